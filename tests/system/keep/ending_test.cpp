// How a helper is ended: the stop plan, stage by stage, as a helper sees it.
#include "keep/fixture.hpp"

namespace holdfast::harness {

namespace {

TEST_F(Keep, AHelperThatReadsTheEndOfInputEndsByItself) {
    scene.start({.holdfast = {"--stop", "eof:1h,term:1h,kill"}, .command = home.animal("echo_server")});
    ASSERT_FALSE(HasFatalFailure());
    scene.tell_host('c');
    EXPECT_EQ(scene.status(), 0);
    expect_nothing_left();
    EXPECT_EQ(count(events(), "\"killed\""), 0U);
}

TEST_F(Keep, ATimerHolderIsTermedAfterTheEndOfInput) {
    const std::string seen = home.dir().file("eof");
    scene.start({.holdfast = {"--stop", "eof:100ms,term:1h,kill"},
                 .command = home.animal("timer_holder", {"--eof-report=" + seen})});
    ASSERT_FALSE(HasFatalFailure());
    scene.tell_host('c');
    EXPECT_TRUE(wait_for_file(seen, Deadline::in(patience)));
    EXPECT_EQ(scene.status(), 128 + SIGTERM);
    EXPECT_NE(events().find("input_closed"), std::string::npos);
}

// node gives its children sockets, and ends them by shutting down its side.
TEST_F(Keep, ASocketThatIsShutDownIsAnEndOfInput) {
    for (const char how : {'s', 'c'}) {
        scene.start({.host = {"--socket"}, .holdfast = by_term, .command = home.animal("timer_holder")});
        ASSERT_FALSE(HasFatalFailure());
        scene.tell_host(how);
        EXPECT_EQ(scene.status(), 128 + SIGTERM);
        expect_nothing_left();
    }
}

TEST_F(Keep, UnreadInputIsReadFirst) {
    // Twelve pieces, a quarter of a second each: longer than the plan's two seconds, and each step within
    // them.
    scene.start({.holdfast = {"--stop", "eof:2s,term:100ms,kill"},
                 .command = sh("echo up; sleep 0.3; i=0; while [ $i -lt 12 ]; do dd bs=512 count=1 "
                               "of=/dev/null 2>/dev/null; sleep 0.25; i=$((i+1)); done; exit 9"),
                 .wait_ready = false});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(next_line(), "up");
    scene.tell_host('w');
    scene.tell_host('w');
    scene.tell_host('c');
    EXPECT_EQ(scene.status(), 9);
}

TEST_F(Keep, InputThatNobodyReadsIsNotWaitedForForEver) {
    scene.start({.holdfast = quickly, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    scene.tell_host('w');
    scene.tell_host('c');
    EXPECT_EQ(scene.status(), 128 + SIGKILL);
    expect_nothing_left();
}

TEST_F(Keep, StopNowIsKillAtOnce) {
    scene.start({.holdfast = {"--stop", "now"}, .command = home.animal("signal_teller")});
    ASSERT_FALSE(HasFatalFailure());
    scene.front().signal(SIGTERM);
    scene.tell_host('r');
    EXPECT_EQ(next_line(), "status 137"); // and no TERM before it
}

TEST_F(Keep, GraceIsTheTimeFromTermToKill) {
    const Words slow = sh("trap 'sleep 0.4; exit 5' TERM; echo up; while :; do sleep 0.02; done");
    for (const auto& [grace, status] : {std::pair("20s", 5), std::pair("1ms", 128 + SIGKILL)}) {
        scene.start({.holdfast = {"--grace", grace}, .command = slow, .wait_ready = false});
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_EQ(next_line(), "up");
        scene.front().signal(SIGTERM);
        EXPECT_EQ(scene.status(), status);
    }
}

// Also through a PID namespace, whose init would pass it on a second time.
TEST_F(Keep, TermReachesTheHelperOnce) {
    for (const char* containment : {"plain", "pidns"}) {
        scene.start({.holdfast = {"--stop", "eof:10ms,term:600ms,kill", "--contain", containment},
                     .command = home.animal("signal_teller")});
        ASSERT_FALSE(HasFatalFailure());
        scene.front().signal(SIGTERM);
        scene.front().signal(SIGTERM);
        scene.tell_host('r');
        const auto said = scene.host().out().read_until("status 137\n", Deadline::in(patience));
        ASSERT_TRUE(said) << said.error().message;
        EXPECT_EQ(count(*said, "signal " + std::to_string(SIGTERM) + " "), 1U) << containment << "\n"
                                                                               << *said;
        EXPECT_GE(count(*said, "signal " + std::to_string(SIGCONT) + " "), 1U) << containment << "\n"
                                                                               << *said;
    }
}

TEST_F(Keep, NohupIsHonoured) {
    scene.start({.host = {"--null"},
                 .holdfast = quickly + Words{"--host", "none"},
                 .command = sh("echo up; exec sleep 3600"),
                 .wait_ready = false});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(next_line(), "up");
    scene.front().signal(SIGHUP);
    EXPECT_TRUE(scene.front().ended()) << "without nohup a hang-up ends it";
    expect_nothing_left();

    auto spec = home.command_of("stage/keep_host",
                                Words{"--null", "--", "nohup", program("holdfast"), "run", "--host", "none"} +
                                    quickly + Words{"--"} + sh("echo up; exec sleep 3600"));
    auto host = Child::spawn(spec);
    ASSERT_TRUE(host);
    const auto line = host->out().read_line(Deadline::in(patience));
    ASSERT_TRUE(line && line->starts_with("child "));
    const Other front(static_cast<pid_t>(std::stol(line->substr(6))));
    ASSERT_TRUE(host->out().read_until("up\n", Deadline::in(patience)));
    front.signal(SIGHUP);
    EXPECT_FALSE(front.ended(Deadline::exactly(500ms)));
    front.signal(SIGTERM);
    EXPECT_TRUE(front.ended());
}

TEST_F(Keep, WhatTheCommandLeavesBehindIsEndedWithIt) {
    const auto ran =
        holdfast(Words{"run"} + quickly + Words{"--"} + home.animal("setsid_daemon", {"--leader-exits"}));
    EXPECT_TRUE(ran.status.exited_with(0));
    expect_nothing_left();
}

} // namespace

} // namespace holdfast::harness
