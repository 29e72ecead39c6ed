// G4 no orphan, for a run that has not begun: who waits for a slot waits for its host, and nothing is started
// for a host that is gone.
#include "keep/fixture.hpp"

#include <filesystem>

namespace holdfast::harness {

namespace {

class SlotWait : public Keep {
protected:
    void hold(const std::string& animal, const Words& words = {}) {
        scene.start({.holdfast = Words{"--slot", "one"} + quickly, .command = home.animal(animal, words)});
        ASSERT_FALSE(HasFatalFailure());
    }
    // A second host, whose run waits: a lock waiter stands below it, or it waits for somebody else's process.
    void start_waiter(const Words& options, const Words& command, bool has_lock_waiter = true) {
        waiting.start(
            {.holdfast = Words{"--slot", "one"} + options, .command = command, .wait_ready = false});
        ASSERT_FALSE(HasFatalFailure());
        if (has_lock_waiter) {
            ASSERT_TRUE(eventually(Deadline::in(patience),
                                   [&] { return !descendants(waiting.front().pid()).empty(); }));
        }
    }
    void expect_it_never_ran() {
        ASSERT_TRUE(scene.host().kill());
        EXPECT_TRUE(eventually(Deadline::in(patience),
                               [&] { return holdfast({"status", "one"}).status.exited_with(3); }));
        EXPECT_FALSE(std::filesystem::exists(mark));
    }
    Scene waiting{home};
    const std::string mark = home.dir().file("ran");
    const Words leave_mark = sh("touch \"$1\"", {mark});
};

TEST_F(SlotWait, TheHostsDeathEndsTheWait) {
    hold("term_ignorer");
    start_waiter({"--if-held", "wait"}, leave_mark);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(waiting.host().kill());
    EXPECT_TRUE(waiting.front().ended());
    EXPECT_TRUE(is_alive(scene.animals().front())) << "the owner is none of its business";
    expect_it_never_ran();
}

TEST_F(SlotWait, AClosedInputEndsTheWait) {
    hold("term_ignorer");
    start_waiter({"--if-held", "wait"}, leave_mark);
    ASSERT_FALSE(HasFatalFailure());
    waiting.tell_host('c');
    EXPECT_EQ(waiting.status(), 75);
    expect_it_never_ran();
}

TEST_F(SlotWait, SoItIsWithTheFarEndOfASocket) {
    hold("term_ignorer");
    waiting.start({.host = {"--socket"},
                   .holdfast = {"--slot", "one", "--if-held", "wait"},
                   .command = leave_mark,
                   .wait_ready = false});
    ASSERT_FALSE(HasFatalFailure());
    waiting.tell_host('s');
    EXPECT_EQ(waiting.status(), 75);
    expect_it_never_ran();
}

TEST_F(SlotWait, WhoIsPatientWithASlowStartEndsWithItsHostToo) {
    scene.start({.holdfast = {"--slot", "one", "--ready", "notify"},
                 .command = home.animal("notifier", {"--steps=2", "--stall-at=1", "--step-ms=1"})});
    ASSERT_FALSE(HasFatalFailure());
    start_waiter({"--if-held", "replace", "--stall", "1h"}, leave_mark);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(waiting.host().kill());
    EXPECT_TRUE(waiting.front().ended());
    EXPECT_TRUE(is_alive(scene.animals().front()));
    expect_it_never_ran();
}

TEST_F(SlotWait, WhoWaitsForAHolderThatIsNotOursEndsWithItsHostToo) {
    auto stranger = Child::spawn(home.command_of("zoo/term_ignorer", {}));
    ASSERT_TRUE(stranger);
    ASSERT_TRUE(stranger->out().read_line(Deadline::in(patience)));
    const std::string pid_file = home.dir().file("other.pid");
    ASSERT_TRUE(write_file(pid_file, std::to_string(stranger->pid())));
    start_waiter({"--if-held", "wait", "--adopt", pid_file, "--adopt-match", "term_ignorer"}, leave_mark,
                 false);
    ASSERT_FALSE(HasFatalFailure());
    // It owns the slot already, and has yet to see the stranger go.
    ASSERT_TRUE(eventually(Deadline::in(patience),
                           [&] { return holdfast({"status", "one"}).status.exited_with(0); }));
    waiting.tell_host('c');
    EXPECT_EQ(waiting.status(), 75);
    EXPECT_TRUE(stranger->alive());
    EXPECT_FALSE(std::filesystem::exists(mark));
}

// What the host wrote before it closed is the command's to read, as without a slot: for as long as the plan's
// first stage gives.
TEST_F(SlotWait, InputThatIsThereAlreadyIsKeptForTheCommand) {
    hold("term_ignorer");
    start_waiter({"--if-held", "wait", "--stop", "eof:1h,kill"}, sh("wc -c > \"$1\"", {mark}));
    ASSERT_FALSE(HasFatalFailure());
    waiting.tell_host('w');
    waiting.tell_host('c');
    EXPECT_FALSE(waiting.front().ended(Deadline::exactly(200ms)));
    ASSERT_TRUE(scene.host().kill());
    EXPECT_EQ(waiting.status(), 0);
    EXPECT_EQ(std::stoi(read_file(mark).value_or("0")), 4096);
}

TEST_F(SlotWait, ButNotForEver) {
    hold("term_ignorer");
    start_waiter({"--if-held", "wait", "--stop", "eof:300ms,kill"}, leave_mark);
    ASSERT_FALSE(HasFatalFailure());
    waiting.tell_host('w');
    waiting.tell_host('c');
    EXPECT_EQ(waiting.status(), 75);
    expect_it_never_ran();
}

// The host may die in the very moment in which the slot comes free: it is looked for once more.
TEST_F(SlotWait, NothingIsStartedForAHostThatIsDeadWhenTheSlotIsThere) {
    auto host = Child::spawn(home.command_of("zoo/exiter", {}));
    ASSERT_TRUE(host);
    ASSERT_TRUE(host->wait_ended(Deadline::in(patience))); // a zombie: its number is still its own
    const auto ran =
        holdfast(Words{"run", "--slot", "one", "--host", std::to_string(host->pid()), "--"} + leave_mark);
    EXPECT_TRUE(ran.status.exited_with(75)) << to_string(ran.status) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(mark));
    EXPECT_TRUE(holdfast({"status", "one"}).status.exited_with(3));
    EXPECT_TRUE(registry_ids(home).empty());
}

// Negative control: with a host that lives, and an input that stays open, the same waiter gets the slot.
TEST_F(SlotWait, AWaiterWithALivingHostGetsTheSlot) {
    hold("term_ignorer");
    start_waiter({"--if-held", "wait"}, leave_mark);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(scene.host().kill());
    EXPECT_EQ(waiting.status(), 0);
    EXPECT_TRUE(std::filesystem::exists(mark));
}

} // namespace

} // namespace holdfast::harness
