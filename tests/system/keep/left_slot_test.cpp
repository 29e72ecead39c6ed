// Slots whose guards were killed, or are ended by somebody who knows only the slot: nothing is left behind,
// and nothing stays in the way.
#include "holdfast/slot.hpp"
#include "keep/fixture.hpp"

#include <filesystem>
#include <future>

namespace holdfast::harness {

namespace {

class LeftSlot : public Keep {
protected:
    // A leader that holds the slot's life, and a daemon of it that holds nothing. Both ignore TERM, so a
    // sweep takes two seconds.
    void start_daemon(const Words& options, const std::string& animal = "setsid_daemon") {
        start(options, sh("trap '' TERM; exec \"$@\"", home.animal(animal)));
    }
    // The same with ears.
    void start_quick_daemon(const Words& options) { start(options, home.animal("setsid_daemon")); }
    void start(const Words& options, const Words& command) {
        scene.start(
            {.host = {"--null"},
             .holdfast = Words{"--stop", "term:1h,kill", "--contain", "plain", "--slot", "left"} + options,
             .command = command});
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

// One that waits already when both are killed is the next start, too: it ends what they left, and goes on.
class WaitingForLeftSlot : public LeftSlot {
protected:
    void start_waiter(const Words& options) {
        waiting.start({.holdfast = Words{"--slot", "left"} + options,
                       .command = sh("echo it runs"),
                       .wait_ready = false});
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(
            eventually(Deadline::in(patience), [&] { return !descendants(waiting.front().pid()).empty(); }));
    }
    void expect_it_follows() {
        EXPECT_EQ(waiting.status(), 0);
        ASSERT_TRUE(scene.host().kill());
        ASSERT_TRUE(waiting.host().kill());
        expect_nothing_left();
    }
    Scene waiting{home};
};

TEST_F(WaitingForLeftSlot, G2AStartThatWaitsAlreadySweepsWhenBothGuardsAreKilled) {
    start_quick_daemon({});
    ASSERT_FALSE(HasFatalFailure());
    start_waiter({"--if-held", "wait"});
    ASSERT_FALSE(HasFatalFailure());
    scene.kill_both_guards();
    expect_it_follows();
    EXPECT_NE(events().find("\"reaped\""), std::string::npos);
}

TEST_F(WaitingForLeftSlot, G2SoItDoesWhenTheKeeperIsKilledLongAfterTheFront) {
    start_daemon({});
    ASSERT_FALSE(HasFatalFailure());
    start_waiter({"--if-held", "wait"});
    ASSERT_FALSE(HasFatalFailure());
    scene.front().signal(SIGKILL);
    ASSERT_TRUE(scene.front().ended());
    EXPECT_FALSE(waiting.front().ended(Deadline::exactly(500ms)))
        << "the keeper ends its tree, in its own time";
    EXPECT_TRUE(is_alive(scene.animals().front()));
    scene.keeper().signal(SIGKILL);
    expect_it_follows();
}

// Who waits for leftovers, or for an owner that is leaving, waits for a while only, but does the same.
TEST_F(WaitingForLeftSlot, G2AStartThatWaitsForLeftoversSweepsWhenTheirKeeperIsKilled) {
    for (const char* policy : {"refuse", "attach"}) {
        start_daemon({});
        ASSERT_FALSE(HasFatalFailure());
        scene.front().signal(SIGKILL);
        ASSERT_TRUE(scene.front().ended());
        start_waiter({"--if-held", policy, "--wait", "1h"});
        ASSERT_FALSE(HasFatalFailure());
        scene.keeper().signal(SIGKILL);
        expect_it_follows();
    }
}

// Under replace, too, those go that hold nothing; and a slow start that has died is not waited for.
TEST_F(WaitingForLeftSlot, G2AReplacementThatIsPatientWithAStartSweepsWhenBothGuardsAreKilled) {
    start_quick_daemon({"--ready", "notify"});
    ASSERT_FALSE(HasFatalFailure());
    start_waiter({"--if-held", "replace", "--stall", "1h"});
    ASSERT_FALSE(HasFatalFailure());
    scene.kill_both_guards();
    expect_it_follows();
}

// From another profile, and in a host of its own: the leftovers themselves say whose they are.
TEST_F(LeftSlot, G2TheLibraryEndsWhatNobodyGuardsWhileItWaits) {
    const std::string directory = shared_directory();
    for (const bool waits_already : {true, false}) {
        start_quick_daemon({"--slot-dir", directory});
        ASSERT_FALSE(HasFatalFailure());
        if (!waits_already)
            scene.kill_both_guards();
        auto waiter = std::async(std::launch::async, [&] {
            return acquire({.directory = directory, .name = "left"},
                           {.if_held = IfHeld::wait, .wait = test::patient(Millis{20'000})});
        });
        if (waits_already) {
            EXPECT_EQ(waiter.wait_for(300ms), std::future_status::timeout);
            scene.kill_both_guards();
        }
        auto got = waiter.get();
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_TRUE(got->ownership);
        ASSERT_TRUE(scene.host().kill());
        expect_nothing_left();
    }
}

// Negative control: as long as the keeper lives, who only waits touches nobody.
TEST_F(LeftSlot, WhatAKeeperGuardsIsLeftToIt) {
    const std::string directory = shared_directory();
    scene.start({.holdfast = {"--slot", "left", "--slot-dir", directory, "--stop", "term:1h,kill"},
                 .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    scene.front().signal(SIGKILL);
    ASSERT_TRUE(scene.front().ended());
    auto got =
        acquire({.directory = directory, .name = "left"}, {.if_held = IfHeld::wait, .wait = Millis{300}});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::orphaned);
    EXPECT_TRUE(is_alive(scene.animals().front())) << "its keeper lives, and has time";
    EXPECT_TRUE(scene.keeper().alive());
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
