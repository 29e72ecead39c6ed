// What a dead owner left behind: named, waited for, and ended under replace; "stopped" only when nothing is
// left (G11).
#include "slot/actor.hpp"
#include "sys/pidfd.hpp"

namespace holdfast::slot_test {
namespace {

class Leftovers : public SlotTest {
protected:
    // An owner that is dead, and the child that it left.
    sys::PidFd leave_one(const std::string& how = "") {
        Actor owner = actor();
        EXPECT_SAYS(owner.ask("acquire refuse"), "owned");
        std::string said = owner.ask("leftover " + how);
        EXPECT_SAYS(said, "leftover ");
        pid_t pid = std::atoi(said.c_str() + 9);
        auto held = sys::PidFd::open(pid);
        EXPECT_TRUE(held);
        owner.kill();
        return std::move(*held);
    }
};

TEST_F(Leftovers, AreNamed) {
    sys::PidFd child = leave_one();
    SlotInfo info = look();
    EXPECT_EQ(info.state, SlotState::orphaned);
    EXPECT_EQ(info.owner_pid, 0);
    ASSERT_EQ(info.leftovers.size(), 1u);
    EXPECT_EQ(info.leftovers[0].pid, child.pid());
    EXPECT_NE(info.leftovers[0].command.find("slot_child"), std::string::npos);
}

TEST_F(Leftovers, AreWaitedForAndNamedWhenTimeRunsOut) {
    sys::PidFd child = leave_one();
    for (const char* policy : {"refuse", "attach", "wait"}) {
        Actor next = actor();
        std::string answer = next.ask(std::string("acquire ") + policy + " wait=100");
        EXPECT_SAYS(answer, "error orphaned ");
        EXPECT_NE(answer.find("process " + std::to_string(child.pid())), std::string::npos) << answer;
    }
    EXPECT_FALSE(child.ended());
}

TEST_F(Leftovers, WhoWaitedStartsWhenTheyAreGone) {
    for (const char* policy : {"refuse", "attach", "wait"}) {
        sys::PidFd child = leave_one();
        Actor next = actor();
        next.tell(std::string("acquire ") + policy);
        EXPECT_FALSE(next.answers_within(50));
        ASSERT_TRUE(child.signal(SIGKILL));
        EXPECT_SAYS(next.hear(5000), "owned");
    }
}

// Found by the storm: the slower one used to sleep until its ten seconds were over.
TEST_F(Leftovers, OfTwoThatWaitOneStartsAndTheOtherIsToldAtOnce) {
    for (const char* policy : {"refuse", "attach"})
        for (int round = 0; round < 5; ++round) {
            sys::PidFd child = leave_one();
            Actor a = actor(), b = actor(), c = actor();
            for (Actor* one : {&a, &b, &c})
                one->tell(std::string("acquire ") + policy);
            EXPECT_FALSE(a.answers_within(30));
            ASSERT_TRUE(child.signal(SIGKILL));
            int owned = 0, told = 0;
            for (Actor* one : {&a, &b, &c}) {
                std::string answer = one->hear(6000);
                owned += begins(answer, "owned");
                told += begins(answer, "error held ") || begins(answer, "attached ");
            }
            EXPECT_EQ(owned, 1);
            EXPECT_EQ(told, 2);
        }
}

TEST_F(Leftovers, AreEndedUnderReplace) {
    sys::PidFd child = leave_one();
    Actor next = actor();
    EXPECT_SAYS(next.ask("acquire replace grace=3600000"), "owned");
    EXPECT_TRUE(
        child.wait_ended(sys::Deadline::in(test::patient(Millis{10'000})))); // life is free an instant before
}

TEST_F(Leftovers, ThatIgnoreTermOrAreStoppedAreEndedToo) {
    sys::PidFd child = leave_one("ignore");
    Actor next = actor();
    EXPECT_SAYS(next.ask("acquire replace grace=100"), "owned");
    EXPECT_TRUE(child.wait_ended(sys::Deadline::in(test::patient(Millis{10'000}))));
    next.kill();

    sys::PidFd stopped = leave_one();
    ASSERT_TRUE(stopped.signal(SIGSTOP));
    Actor another = actor();
    EXPECT_SAYS(another.ask("acquire replace grace=3600000"), "owned");
    EXPECT_TRUE(stopped.ended());
}

TEST_F(Leftovers, OfALivingOwnerAreNobodysBusiness) {
    Actor owner = actor(), late = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    ASSERT_SAYS(owner.ask("leftover"), "leftover");
    EXPECT_EQ(look().state, SlotState::owned);
    EXPECT_TRUE(look().leftovers.empty());
    EXPECT_SAYS(late.ask("acquire refuse"), "error held ");
}

TEST_F(Leftovers, StopEndsOwnerAndAllThatHoldLife) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned"); // starting: stop does not wait for a start to finish
    std::string polite = owner.ask("leftover"), deaf = owner.ask("leftover ignore");
    auto one = sys::PidFd::open(std::atoi(polite.c_str() + 9)),
         two = sys::PidFd::open(std::atoi(deaf.c_str() + 9));
    ASSERT_TRUE(one && two);
    auto stopped = stop_slot(slot(), {.grace = Millis{200}});
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_TRUE(stopped->anybody);
    EXPECT_TRUE(one->ended());
    EXPECT_TRUE(two->ended());
    EXPECT_FALSE(owner.child().alive());
    EXPECT_EQ(look().state, SlotState::free);
    auto again = stop_slot(slot(), {});
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->anybody);
}

TEST_F(Leftovers, StopNowDoesNotAsk) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    ASSERT_EQ(owner.ask("hear"), "ok");
    ASSERT_TRUE(stop_slot(slot(), {.grace = Millis{3'600'000}, .now = true}).value().anybody);
    EXPECT_TRUE(owner.child().wait(soon())->killed_by(SIGKILL));
}

TEST_F(Leftovers, StopOfNothingMakesNothing) {
    std::string before = listing(directory());
    auto stopped = stop_slot(slot(), {});
    ASSERT_TRUE(stopped);
    EXPECT_FALSE(stopped->anybody);
    EXPECT_EQ(listing(directory()), before);
}

} // namespace
} // namespace holdfast::slot_test
