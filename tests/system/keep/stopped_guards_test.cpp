// G4 no orphan: guards that a signal has stopped hear nothing, not even that their host has died. Whoever
// starts next, or waits already, continues them, and they end their tree.
#include "keep/fixture.hpp"

#include <sys/syscall.h>

#include <filesystem>
#include <system_error>

namespace holdfast::harness {

namespace {

class StoppedGuards : public Keep {
protected:
    // In a session of its own, as hosts start helpers that a terminal's signals are not to reach. (In one
    // session with its host the kernel continues what the host's death leaves stopped.)
    void start(const Words& options, const Words& plan = quickly,
               const std::string& animal = "timer_holder") {
        scene.start_unguarded(Words{"/usr/bin/setsid", program("holdfast"), "run", "--contain", "plain"} +
                              plan + options + Words{"--"} + home.animal(animal));
        ASSERT_FALSE(HasFatalFailure());
        scene.find_keeper();
    }
    void stop_guards() {
        scene.keeper().freeze();
        scene.front().freeze();
    }
    void kill_host() {
        ASSERT_TRUE(scene.host().kill());
        // One that waits already may have continued them by now.
        if (waiting.front().valid())
            return;
        ASSERT_EQ(state_of(scene.front()), 'T') << "or there would be nothing to do";
        ASSERT_EQ(state_of(scene.keeper()), 'T');
    }
    static char state_of(const Other& process) {
        const auto info = inspect(process.pid());
        return info ? info->state : '-';
    }
    void start_waiter(const Words& options) {
        waiting.start(
            {.holdfast = Words{"--slot", "s"} + options, .command = sh("echo it runs"), .wait_ready = false});
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(
            eventually(Deadline::in(patience), [&] { return !descendants(waiting.front().pid()).empty(); }));
    }
    // Whether the one that waits holds this process by a pidfd, and has nothing else to do.
    [[nodiscard]] bool waits_for(pid_t pid) const {
        const std::string own = "/proc/" + std::to_string(waiting.front().pid());
        bool holds = false;
        std::error_code none;
        for (const auto& file : std::filesystem::directory_iterator(own + "/fdinfo", none))
            holds =
                holds ||
                read_file(file.path().string()).value_or("").find("\nPid:\t" + std::to_string(pid) + "\n") !=
                    std::string::npos;
        return holds && read_file(own + "/syscall").value_or("").starts_with(std::to_string(SYS_poll) + " ");
    }
    Scene waiting{home};
};

TEST_F(StoppedGuards, G4TheNextStartContinuesThem) {
    start({});
    ASSERT_FALSE(HasFatalFailure());
    stop_guards();
    kill_host();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(holdfast({"run", "--host", "none", "--", "/bin/true"}).status.exited_with(0));
    EXPECT_TRUE(scene.front().ended());
    EXPECT_TRUE(scene.keeper().ended());
    expect_nothing_left();
}

TEST_F(StoppedGuards, G2TheNextStartOfTheirSlotComesAfterThem) {
    for (const char* policy : {"refuse", "attach", "wait"}) {
        start({"--slot", "s"});
        ASSERT_FALSE(HasFatalFailure());
        stop_guards();
        kill_host();
        ASSERT_FALSE(HasFatalFailure());
        const auto next = holdfast(
            {"run", "--host", "none", "--slot", "s", "--if-held", policy, "--", "/bin/echo", "it runs"});
        EXPECT_TRUE(next.status.exited_with(0)) << policy << ": " << next.err;
        EXPECT_EQ(next.out, "it runs\n");
        expect_nothing_left();
    }
}

// From another profile nothing but the slot leads to them.
TEST_F(StoppedGuards, G2SoDoesOneOfAnotherProfile) {
    const std::string directory = home.dir().file("shared");
    std::filesystem::create_directory(directory);
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
    start({"--slot", "s", "--slot-dir", directory});
    ASSERT_FALSE(HasFatalFailure());
    stop_guards();
    kill_host();
    ASSERT_FALSE(HasFatalFailure());
    const auto next = holdfast(
        {"run", "-p", "other", "--host", "none", "--slot", "s", "--slot-dir", directory, "--", "/bin/true"});
    EXPECT_TRUE(next.status.exited_with(0)) << next.err;
    expect_nothing_left();
}

TEST_F(StoppedGuards, G4OneThatWaitsAlreadyContinuesThem) {
    start({"--slot", "s"});
    ASSERT_FALSE(HasFatalFailure());
    start_waiter({"--if-held", "wait"});
    ASSERT_FALSE(HasFatalFailure());
    stop_guards();
    kill_host();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(waiting.status(), 0);
    EXPECT_TRUE(scene.front().ended());
    ASSERT_TRUE(waiting.host().kill());
    expect_nothing_left();
}

// The keeper's front is dead, and it alone can end the tree. It is stopped in the midst of that.
TEST_F(StoppedGuards, G4SoDoesOneThatWaitsForTheKeeperAlone) {
    start({"--slot", "s"}, {"--stop", "term:60s,kill"}, "term_ignorer");
    ASSERT_FALSE(HasFatalFailure());
    start_waiter({"--if-held", "wait"});
    ASSERT_FALSE(HasFatalFailure());
    scene.front().signal(SIGKILL);
    EXPECT_TRUE(scene.front().ended());
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] { return waits_for(scene.keeper().pid()); }));
    scene.keeper().freeze();
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return state_of(scene.keeper()) != 'T'; }));
    scene.keeper().signal(SIGKILL); // it has a minute; that is not what this is about
    EXPECT_EQ(waiting.status(), 0);
    ASSERT_TRUE(waiting.host().kill());
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

// Negative control: as long as the host lives, whoever stopped them has a reason.
TEST_F(StoppedGuards, ThoseOfALivingHostAreLeftAlone) {
    start({"--slot", "s"});
    ASSERT_FALSE(HasFatalFailure());
    start_waiter({"--if-held", "wait"});
    ASSERT_FALSE(HasFatalFailure());
    stop_guards();
    EXPECT_TRUE(holdfast({"run", "--host", "none", "--", "/bin/true"}).status.exited_with(0));
    EXPECT_TRUE(holdfast({"run", "--host", "none", "--slot", "s", "--", "/bin/true"}).status.exited_with(69));
    EXPECT_FALSE(waiting.front().ended(Deadline::in(500ms)));
    EXPECT_EQ(state_of(scene.front()), 'T');
    EXPECT_EQ(state_of(scene.keeper()), 'T');
}

} // namespace

} // namespace holdfast::harness
