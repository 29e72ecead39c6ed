// G3 right target, G8 no ping-pong: stop ends the owner that was found, asks it inside the door, and leaves
// whoever comes after it alone.
#include "slot/actor.hpp"
#include "slot/stopping.hpp"
#include "sys/fd.hpp"

#include <fcntl.h>

namespace holdfast::slot_test {
namespace {

class Stop : public SlotTest {
protected:
    // The test owns no slot, so it may open and close the file as it likes.
    [[nodiscard]] bool door_is_locked() const {
        sys::Fd fd(::open((directory() + "/slot.lock").c_str(), O_RDONLY | O_CLOEXEC));
        struct flock question{};
        question.l_type = F_RDLCK;
        question.l_whence = SEEK_SET;
        question.l_start = 2;
        question.l_len = 1;
        EXPECT_EQ(::fcntl(fd.get(), F_OFD_GETLK, &question), 0);
        return question.l_type != F_UNLCK;
    }
};

TEST_F(Stop, WhoWaitedAndOwnsItNowIsLeftAloneAndNamed) {
    Actor owner = actor(), waiter = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(waiter.ask("hear"), "ok");
    waiter.tell("acquire wait");
    // On its way to the queue the waiter holds the door for an instant, and Stopping asks only when the door
    // is free.
    ASSERT_TRUE(waiter.comes_to_wait());
    slot::Stopping stopping(slot(), {.grace = test::patient(Millis{20'000})});
    EXPECT_TRUE(owner.child().wait(soon())->killed_by(SIGTERM));
    EXPECT_EQ(waiter.hear(), "owned 2");
    auto stopped = stopping.finish();
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_TRUE(stopped->anybody);
    ASSERT_TRUE(stopped->successor);
    EXPECT_EQ(stopped->successor->owner_pid, waiter.pid());
    EXPECT_EQ(stopped->successor->epoch, 2u);
    EXPECT_EQ(waiter.ask("heard"), "heard 0 0");
}

// Also when the newer one has died and left something behind: that was not meant either.
TEST_F(Stop, LeftoversOfANewerOwnerAreNotMeant) {
    Actor owner = actor(), waiter = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    slot::Stopping stopping(slot(), {.grace = test::patient(Millis{20'000})});
    EXPECT_TRUE(owner.child().wait(soon())->killed_by(SIGTERM));
    ASSERT_EQ(waiter.ask("acquire wait"), "owned 2");
    ASSERT_SAYS(waiter.ask("leftover"), "leftover ");
    waiter.kill();
    ASSERT_EQ(look().leftovers.size(), 1u);
    auto stopped = stopping.finish();
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_FALSE(stopped->successor);
    EXPECT_EQ(look().state, SlotState::orphaned);
    EXPECT_TRUE(stop_slot(slot(), {}).value().anybody) << "meant now";
    EXPECT_EQ(look().state, SlotState::free);
}

TEST_F(Stop, AnEpochThatIsOverIsNobody) {
    Actor first = actor(), second = actor();
    ASSERT_EQ(first.ask("acquire refuse"), "owned 1");
    first.kill();
    ASSERT_EQ(second.ask("hear"), "ok");
    ASSERT_EQ(second.ask("acquire refuse"), "owned 2");
    auto stopped = stop_slot(slot(), {.epoch = 1});
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_FALSE(stopped->anybody);
    ASSERT_TRUE(stopped->successor);
    EXPECT_EQ(second.ask("heard"), "heard 0 0");
    EXPECT_TRUE(stop_slot(slot(), {.grace = Millis{50}, .epoch = 2})->anybody);
}

// An owner that lets go and lives on does so inside the door: who signals from within signals an owner.
TEST_F(Stop, TheSignalGoesOutInsideTheDoor) {
    Actor owner = actor(), stopper = actor();
    ASSERT_EQ(owner.ask("hear"), "ok");
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    EXPECT_FALSE(door_is_locked());
    ASSERT_EQ(stopper.ask("freeze-at pidfd_signal"), "ok");
    stopper.tell("ask-to-stop");
    ASSERT_TRUE(stopper.reaches_state('T'));
    EXPECT_TRUE(door_is_locked());
    EXPECT_EQ(look().owner_pid, owner.pid());
    stopper.signal(SIGCONT);
    EXPECT_EQ(stopper.hear(), "ok");
    EXPECT_FALSE(door_is_locked()) << "asked, and not waited for inside";
    EXPECT_EQ(owner.ask("release"), "ok");
    EXPECT_EQ(stopper.ask("stopped"), "stopped");
    EXPECT_EQ(owner.ask("heard"), "heard 1 15") << "and once";
}

// Who is slow between the question and the signal is slow inside the door: the owner lets go after it.
TEST_F(Stop, AnOwnerThatLetsGoMeanwhileOwnsItStillWhenItHears) {
    Actor owner = actor(), stopper = actor();
    ASSERT_EQ(owner.ask("hear"), "ok");
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(stopper.ask("freeze-at pidfd_signal"), "ok");
    stopper.tell("ask-to-stop");
    ASSERT_TRUE(stopper.reaches_state('T'));
    owner.tell("release");
    EXPECT_FALSE(owner.answers_within(1500));
    EXPECT_EQ(look().owner_pid, owner.pid());
    stopper.signal(SIGCONT);
    EXPECT_EQ(stopper.hear(), "ok");
    EXPECT_EQ(owner.hear(), "ok");
    EXPECT_EQ(stopper.ask("stopped"), "stopped");
}

TEST_F(Stop, ADoorThatDoesNotOpenIsNotWaitedForForEver) {
    Actor inside = actor();
    ASSERT_EQ(inside.ask("freeze-at epoch_write"), "ok");
    inside.tell("acquire refuse");
    ASSERT_TRUE(inside.reaches_state('T'));
    auto stopped = stop_slot(slot(), {.grace = Millis{50}, .patience = Millis{50}, .epoch = 0});
    EXPECT_TRUE(stopped) << "nobody owns it yet";
    inside.signal(SIGCONT);
    ASSERT_EQ(inside.hear(), "owned 1");
    Actor stopper = actor();
    ASSERT_EQ(stopper.ask("freeze-at pidfd_signal"), "ok");
    stopper.tell("ask-to-stop");
    ASSERT_TRUE(stopper.reaches_state('T'));
    stopped = stop_slot(slot(), {.grace = Millis{50}, .patience = Millis{50}});
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Errc::timed_out) << stopped.error().message;
    stopper.signal(SIGCONT);
    EXPECT_EQ(stopper.hear(), "ok");
}

TEST_F(Stop, OneThatLetGoBeforeItWasAskedHearsNothing) {
    Actor owner = actor(), stopper = actor();
    ASSERT_EQ(owner.ask("hear"), "ok");
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(stopper.ask("freeze-at pidfd_open"), "ok"); // it has seen who owns the slot
    stopper.tell("ask-to-stop");
    ASSERT_TRUE(stopper.reaches_state('T'));
    owner.tell("release"); // waits for the door, and goes without it in seconds: the stopper does not go on
    EXPECT_EQ(owner.hear(), "ok");
    stopper.signal(SIGCONT);
    EXPECT_EQ(stopper.hear(), "ok");
    EXPECT_EQ(stopper.ask("stopped"), "stopped");
    EXPECT_EQ(owner.ask("heard"), "heard 0 0");
}

} // namespace
} // namespace holdfast::slot_test
