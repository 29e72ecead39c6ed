// Slots whose guards were killed, or are ended by somebody who knows only the slot: nothing is left behind,
// and nothing stays in the way.
#include "keep/fixture.hpp"

#include <filesystem>

namespace holdfast::harness {

namespace {

class LeftSlot : public Keep {
protected:
    // A leader that holds the slot's life, and a daemon of it that holds nothing. Both ignore TERM.
    void start_daemon(const Words& options, const std::string& animal = "setsid_daemon") {
        scene.start(
            {.host = {"--null"},
             .holdfast = Words{"--stop", "term:60s,kill", "--contain", "plain", "--slot", "left"} + options,
             .command = sh("trap '' TERM; exec \"$@\"", home.animal(animal))});
    }
    std::string shared_directory() const {
        const std::string path = home.dir().file("shared");
        std::filesystem::create_directory(path);
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path;
    }
};

// From another profile there is only the slot to go by. The keeper is the one who knows the daemon.
TEST_F(LeftSlot, G4AStopFromAnotherProfileEndsTheWholeTree) {
    const std::string directory = shared_directory();
    start_daemon({"-p", "one", "--slot-dir", directory});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(
        holdfast({"stop", "-p", "two", "left", "--slot-dir", directory, "--now"}).status.exited_with(0));
    for (const pid_t one : scene.animals())
        EXPECT_FALSE(is_alive(one)) << "said to be stopped: " << one;
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

TEST_F(LeftSlot, G4AReplacementFromAnotherProfileComesAfterTheWholeTree) {
    const std::string directory = shared_directory();
    start_daemon({"-p", "one", "--slot-dir", directory});
    ASSERT_FALSE(HasFatalFailure());
    const auto next = holdfast(
        Words{"run", "-p", "two", "--host", "none", "--slot", "left", "--slot-dir", directory, "--if-held",
              "replace", "--grace", "100ms", "--"} +
        sh("kill -0 $1 2>/dev/null && echo it lives; exit 0", {std::to_string(scene.animals().back())}));
    EXPECT_TRUE(next.status.exited_with(0)) << next.err;
    EXPECT_EQ(next.out, "") << "a zombie answers, too, but this one's keeper reaps it";
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

// Both guards killed: the next start of that very slot does not wait for what they left.
TEST_F(LeftSlot, G2TheNextStartOfTheSlotSweepsBeforeItWaits) {
    for (const char* policy : {"refuse", "wait", "attach"}) {
        start_daemon({});
        ASSERT_FALSE(HasFatalFailure());
        scene.kill_both_guards();
        const auto next = holdfast({"run", "--host", "none", "--slot", "left", "--if-held", policy, "--wait",
                                    "8s", "--", "/bin/true"});
        EXPECT_TRUE(next.status.exited_with(0)) << policy << ": " << next.err;
        ASSERT_TRUE(scene.host().kill());
        expect_nothing_left();
        std::filesystem::remove(home.dir().file("report"));
    }
}

TEST_F(LeftSlot, G11AStopOfTheSlotEndsThoseToThatHoldNothing) {
    start_daemon({});
    ASSERT_FALSE(HasFatalFailure());
    scene.kill_both_guards();
    EXPECT_TRUE(holdfast({"stop", "left"}).status.exited_with(0));
    for (const pid_t one : scene.animals())
        EXPECT_FALSE(is_alive(one)) << "said to be stopped: " << one;
    EXPECT_EQ(ps(), "[]\n");
}

// A wrong word is found before anybody is swept.
TEST_F(LeftSlot, AStartThatCannotBeSweepsNobody) {
    start_daemon({});
    ASSERT_FALSE(HasFatalFailure());
    scene.kill_both_guards();
    EXPECT_TRUE(holdfast({"run", "--slot", "left", "--", "/no/such/program"}).status.exited_with(127));
    EXPECT_TRUE(holdfast({"run", "--slot", "../x", "--", "/bin/true"}).status.exited_with(64));
    EXPECT_TRUE(is_alive(scene.animals().back()));
}

TEST_F(LeftSlot, ASparedDaemonDoesNotKeepTheSlotShut) {
    start_daemon({"--spare", "double_forker"}, "double_forker"); // this one holds what it was given
    ASSERT_FALSE(HasFatalFailure());
    Other(scene.animals().front()).signal(SIGKILL); // the leader; its daemon is left on purpose
    EXPECT_TRUE(scene.front().ended());
    EXPECT_TRUE(is_alive(scene.animals().back()));
    EXPECT_NE(holdfast({"status", "left", "--json"}).out.find("\"state\":\"free\""), std::string::npos);
    EXPECT_TRUE(holdfast({"run", "--host", "none", "--slot", "left", "--wait", "1s", "--", "/bin/true"})
                    .status.exited_with(0));
    EXPECT_TRUE(is_alive(scene.animals().back()));
}

} // namespace

} // namespace holdfast::harness
