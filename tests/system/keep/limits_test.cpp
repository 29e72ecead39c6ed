// Limits that a helper is given: idle time, life, memory; what is started again; what is spared.
#include "keep/fixture.hpp"

#include <filesystem>
#include <sstream>

namespace holdfast::harness {

namespace {

TEST_F(Keep, IdleMeansThatItsInputAndOutputStandStill) {
    scene.start({.holdfast = quickly + Words{"--idle", "2s"},
                 .command = home.animal("io_ticker", {"--child", "--every-ms=20"})});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_FALSE(scene.front().ended(Deadline::exactly(3s))) << "a grandchild's I/O counts too";
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();

    scene.start(
        {.holdfast = by_term + Words{"--idle", "500ms"}, .command = home.animal("io_ticker", {"--times=3"})});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(scene.status(), 128 + SIGTERM);
    EXPECT_NE(events().find("\"reason\":\"idle\""), std::string::npos);
    expect_nothing_left();
}

TEST_F(Keep, WorkOnSocketsIsNotIdle) {
    scene.start({.holdfast = quickly + Words{"--idle", "2s"},
                 .command = home.animal("io_ticker", {"--socket", "--every-ms=20"})});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_FALSE(scene.front().ended(Deadline::exactly(4s)));
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

// A timer that only wakes up is no work, and no reason to live.
TEST_F(Keep, ATimerAloneIsIdle) {
    scene.start({.host = {"--null"},
                 .holdfast = by_term + Words{"--idle", "2s", "--name", "waker"},
                 .command = sh("echo up; exec sleep 3600"),
                 .wait_ready = false});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(next_line(), "up");
    EXPECT_EQ(scene.status(), 128 + SIGTERM);
}

TEST_F(Keep, AWordOnTheNotifySocketIsNotIdle) {
    // Three seconds of words, then ready and silent.
    scene.start({.host = {"--null"},
                 .holdfast = quickly + Words{"--idle", "1s"},
                 .command = home.animal("notifier", {"--steps=30", "--step-ms=100"})});
    ASSERT_FALSE(HasFatalFailure()) << "it was ended while it spoke";
    EXPECT_TRUE(scene.front().ended());
    EXPECT_NE(events().find("\"reason\":\"idle\""), std::string::npos) << events();
}

TEST_F(Keep, TheWordsOfALimit) {
    const auto idle =
        holdfast({"run", "--stop", "now", "--idle", "100ms", "--name", "lazy", "--", "/bin/sleep", "3600"});
    EXPECT_NE(idle.err.find("\"lazy\" did nothing for 100ms"), std::string::npos) << idle.err;
    const auto life =
        holdfast({"run", "--stop", "now", "--max-life", "50ms", "--name", "old", "--", "/bin/sleep", "3600"});
    EXPECT_NE(life.err.find("\"old\" ran for 50ms"), std::string::npos) << life.err;
}

TEST_F(Keep, FewDescriptorsAreEnough) {
    for (const char* limit : {"240", "64"}) {
        auto spec = home.command({});
        spec.argv = sh("ulimit -n $2; exec \"$1\" run -- sh -c 'exit 5'", {program("holdfast"), limit});
        const auto ran = run_to_end(spec, Deadline::in(patience));
        ASSERT_TRUE(ran);
        EXPECT_TRUE(ran->status.exited_with(5)) << limit << ": " << ran->err;
    }
    auto spec = home.command({});
    spec.argv = sh("ulimit -n 13; exec \"$1\" run -- true", {program("holdfast")});
    const auto ran = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ran);
    EXPECT_FALSE(ran->status.exited_with(0));
    EXPECT_EQ(ran->err.find("Bad file descriptor"), std::string::npos) << ran->err;
}

TEST_F(Keep, MaximumLifeEndsTheBusiestToo) {
    scene.start({.holdfast = by_term + Words{"--max-life", "400ms"},
                 .command = home.animal("io_ticker", {"--every-ms=10"})});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(scene.status(), 128 + SIGTERM);
    EXPECT_NE(events().find("\"reason\":\"max_life\""), std::string::npos);
}

TEST_F(Keep, AMemoryCeilingHoldsForTheWholeTree) {
    // Watched, not counted by a cgroup: the child holds it, not the helper itself.
    auto spec = home.command(Words{"run", "--contain", "plain", "--memory", "40M", "--name", "hungry", "--"} +
                             home.animal("memory_holder", {"--mb=200", "--grow-ms=5", "--child"}));
    const auto ran = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran->status.exited_with(128 + SIGKILL)) << to_string(ran->status);
    EXPECT_NE(ran->err.find("\"hungry\" used more than 40M"), std::string::npos) << ran->err;
    EXPECT_NE(events().find("\"reason\":\"memory\""), std::string::npos);
    expect_nothing_left();
}

// By the kernel, where the memory controller is in cgroup v2 and ours to use (tests/e2e/old_kernel/check has
// such a machine): nobody has to watch, and no process can be past the ceiling before it is seen.
TEST_F(Keep, AMemoryCeilingIsTheKernelsWhereItHasOne) {
    std::string why;
    if (!cgroups_can_be_made(why))
        GTEST_SKIP() << why;
    scene.start({.holdfast = quickly + Words{"--contain", "cgroup", "--memory", "40M"},
                 .command = home.animal("memory_holder", {"--mb=10"})});
    ASSERT_FALSE(HasFatalFailure());
    const auto limit = read_file(cgroup_directory_of(scene.animals().front()) + "/memory.max");
    if (!limit)
        GTEST_SKIP() << "no memory controller in cgroup v2 here";
    EXPECT_EQ(*limit, "41943040\n");

    auto spec =
        home.command(Words{"run", "--contain", "cgroup", "--memory", "40M", "--name", "hungry", "--"} +
                     home.animal("memory_holder", {"--mb=200", "--child"}));
    const auto ran = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran->status.exited_with(128 + SIGKILL)) << to_string(ran->status);
    EXPECT_NE(ran->err.find("\"hungry\" used more than 40M"), std::string::npos) << ran->err;
    EXPECT_NE(events().find("\"reason\":\"memory\""), std::string::npos) << events();
    scene.front().signal(SIGTERM);
    EXPECT_TRUE(scene.front().ended());
    expect_nothing_left();
}

TEST_F(Keep, BelowItsCeilingAHelperLives) {
    scene.start({.holdfast = quickly + Words{"--contain", "plain", "--memory", "200M"},
                 .command = home.animal("memory_holder", {"--mb=10"})});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_FALSE(scene.front().ended(Deadline::exactly(700ms)));
}

class Restart : public Keep {
protected:
    // A script that notes the time of each start, and then `rest`.
    Words noting(const std::string& rest) const { return sh("date +%s%N >> \"$1\"; " + rest, {starts}); }
    std::vector<double> gaps_ms() const {
        std::istringstream text(read_file(starts).value_or(""));
        std::vector<double> gaps;
        for (long long last = 0, now = 0; text >> now; last = now)
            if (last)
                gaps.push_back(static_cast<double>(now - last) / 1e6);
        return gaps;
    }
    const std::string starts = home.dir().file("starts");
};

TEST_F(Restart, OnFailureItIsTriedAgainWithGrowingPausesAndThenGivenUp) {
    const auto ran = holdfast(Words{"run", "--restart", "on-failure", "--restart-delay", "100ms",
                                    "--restart-max", "4", "--name", "looper", "--"} +
                              noting("exit 3"));
    EXPECT_TRUE(ran.status.exited_with(3)) << to_string(ran.status);
    EXPECT_NE(ran.err.find("\"looper\" failed too often"), std::string::npos) << ran.err;
    const auto gaps = gaps_ms();
    ASSERT_EQ(gaps.size(), 3U); // four starts
    EXPECT_GE(gaps[1], 79) << "100 ms, less a fifth for jitter";
    EXPECT_GE(gaps[2], 159) << "twice that";
    const std::string log = events();
    EXPECT_EQ(count(log, "\"respawned\""), 3U) << log;
    EXPECT_EQ(count(log, "\"gave-up\""), 1U) << log;
}

TEST_F(Restart, OnFailureLeavesSuccessAlone) {
    EXPECT_TRUE(
        holdfast(Words{"run", "--restart", "on-failure", "--"} + noting("exit 0")).status.exited_with(0));
    EXPECT_TRUE(gaps_ms().empty());
}

TEST_F(Restart, AlwaysIsTriedAgainAfterSuccessToo) {
    const auto ran =
        holdfast(Words{"run", "--restart", "always", "--restart-delay", "1ms", "--restart-max", "3", "--"} +
                 noting("exit 0"));
    EXPECT_TRUE(ran.status.exited_with(72)) << to_string(ran.status);
    EXPECT_EQ(gaps_ms().size(), 2U);
}

TEST_F(Restart, NeverIsTheDefault) {
    EXPECT_TRUE(holdfast(Words{"run", "--"} + noting("exit 3")).status.exited_with(3));
    EXPECT_TRUE(gaps_ms().empty());
}

TEST_F(Restart, AKilledHelperIsReplacedOnceAndItsLeftoversAreGone) {
    scene.start({.host = {"--null"},
                 .holdfast = quickly + Words{"--restart", "on-failure", "--name", "phoenix"},
                 .command = home.animal("double_forker")});
    ASSERT_FALSE(HasFatalFailure());
    const auto first = scene.animals();
    Other(first.front()).signal(SIGKILL);
    ASSERT_TRUE(eventually_in_ps("\"restarts\":1"));
    ASSERT_TRUE(eventually_in_ps("\"phase\":\"ready\""));
    for (const pid_t old : first)
        EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return !is_alive(old); }))
            << "of the dead generation: " << old;
    EXPECT_EQ(count(ps(), "\"id\""), 1U);
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

// A large process takes its time to die, and until then holds what it held.
TEST_F(Restart, TheNextGenerationBeginsWhenTheOldOneHasGone) {
    const std::string lock = home.dir().file("generation.lock"), met = home.dir().file("met"),
                      up = home.dir().file("up");
    const Words holder = home.animal("memory_holder", {"--mb=400", "--report=" + up});
    const auto ran = holdfast(Words{"run", "--host", "none", "--contain", "plain", "--restart", "on-failure",
                                    "--restart-delay", "1ms", "--restart-max", "4", "--"} +
                                  sh("exec 9>>\"$1\"; flock -n 9 || { echo >>\"$2\"; exit 5; }; shift 2; "
                                     "up=$1; shift; rm -f \"$up\"; "
                                     "\"$@\" & while ! [ -s \"$up\" ]; do sleep 0.01; done; exit 1",
                                     Words{lock, met, up} + holder),
                              60s);
    EXPECT_TRUE(ran.status.exited_with(1)) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(met)) << "it met the one before it";
}

TEST_F(Restart, AStopDuringThePauseIsFinal) {
    scene.start({.host = {"--null"},
                 .holdfast = {"--restart", "always", "--restart-delay", "30s", "--name", "paused"},
                 .command = noting("exit 1"),
                 .wait_ready = false});
    ASSERT_FALSE(HasFatalFailure());
    // The first failure is answered at once; the second pause is the long one.
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] { return gaps_ms().size() == 1; }));
    EXPECT_TRUE(holdfast({"stop", "paused"}).status.exited_with(0));
    expect_nothing_left();
    EXPECT_EQ(gaps_ms().size(), 1U);
}

TEST_F(Restart, IsRefusedWithAClientOnStdin) {
    auto spec = home.command({"run", "--restart", "always", "--", "/bin/true"});
    spec.in = Stdio::pipe;
    spec.err = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    const auto status = child->wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(64)) << to_string(*status);
    EXPECT_NE(child->err().read_to_end(Deadline::in(patience)).value_or("").find("--restart"),
              std::string::npos);
    EXPECT_TRUE(holdfast({"run", "--restart", "always", "--pty", "--", "/bin/true"}).status.exited_with(64));
    EXPECT_TRUE(holdfast({"run", "--restart-max", "65", "--", "/bin/true"}).status.exited_with(64));
}

// The helper leaves a daemon behind; which one is told by its words, which are in its environment and not in
// the helper's.
class Spare : public Keep {
protected:
    void start(const Words& options) {
        scene.start({.holdfast = quickly + options,
                     .command = sh("ZOO_REPORT=\"$2\" \"$1/setsid_daemon\" --token=$ZOO_TOKEN --life=3600 "
                                   "--leader-exits; exec \"$1/term_ignorer\" --token=$ZOO_TOKEN",
                                   {program("zoo"), daemon_report})});
        ASSERT_FALSE(HasFatalFailure());
        const auto said = wait_for_file(daemon_report, Deadline::in(patience));
        ASSERT_TRUE(said);
        daemon = parse_ready(*said).value_or(std::vector<pid_t>{0, 0}).at(1);
        ASSERT_TRUE(is_alive(daemon));
    }
    const std::string daemon_report = home.dir().file("daemon");
    pid_t daemon = 0;
};

TEST_F(Spare, NamedDaemonsLiveOnAndAreShown) {
    start({"--spare", "setsid_daemon .*--life=3600"});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_NE(ps().find("\"spare\":[\"setsid_daemon .*--life=3600\"]"), std::string::npos);
    EXPECT_NE(holdfast({"ps"}).out.find("SPARES"), std::string::npos);
    scene.front().signal(SIGTERM);
    EXPECT_EQ(scene.status(), 128 + SIGKILL);
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] { return scene.alive_now().size() == 1; }))
        << to_string(scene.alive_now());
    EXPECT_TRUE(is_alive(daemon));
}

TEST_F(Spare, TheyLiveOnAfterADoubleKillAndTheNextStartToo) {
    start({"--spare", "setsid_daemon .*--life=3600"});
    ASSERT_FALSE(HasFatalFailure());
    scene.kill_both_guards();
    EXPECT_TRUE(holdfast({"run", "--", "/bin/true"}).status.exited_with(0));
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] { return scene.alive_now().size() == 1; }))
        << to_string(scene.alive_now());
    EXPECT_TRUE(is_alive(daemon));
}

// The cgroup goes with the helper: who is spared lives on in the one above.
TEST_F(Spare, TheyKeepNoCgroup) {
    std::string why;
    if (!cgroups_can_be_made(why))
        GTEST_SKIP() << why;
    for (const bool double_kill : {false, true}) {
        std::filesystem::remove(daemon_report);
        start({"--contain", "cgroup", "--spare", "setsid_daemon .*--life=3600"});
        ASSERT_FALSE(HasFatalFailure());
        const std::string cgroup = cgroup_directory_of(daemon);
        ASSERT_NE(cgroup.find("/holdfast-"), std::string::npos) << cgroup;
        if (double_kill) {
            scene.kill_both_guards();
            EXPECT_TRUE(holdfast({"run", "--", "/bin/true"}).status.exited_with(0));
        } else {
            scene.front().signal(SIGTERM);
            EXPECT_EQ(scene.status(), 128 + SIGKILL);
        }
        EXPECT_FALSE(std::filesystem::exists(cgroup));
        EXPECT_TRUE(is_alive(daemon));
        Other(daemon).signal(SIGKILL);
        expect_nothing_left();
    }
}

TEST_F(Spare, NobodyIsSparedByDefault) {
    start({});
    ASSERT_FALSE(HasFatalFailure());
    scene.front().signal(SIGTERM);
    expect_nothing_left();
}

TEST_F(Spare, ABadExpressionIsSaidSo) {
    const auto ran = holdfast({"run", "--spare", "(", "--", "/bin/true"});
    EXPECT_TRUE(ran.status.exited_with(64)) << ran.err;
}

TEST_F(Keep, APidNamespaceIsItsOwnWorld) {
    ::setenv("LSAN_OPTIONS", "detect_leaks=0", 1); // its tracer cannot look into another PID namespace
    const auto ran = holdfast(Words{"run", "--contain", "pidns", "--"} +
                              sh("test $$ -lt 10 && test -d /proc/$$ && exit 5"));
    EXPECT_TRUE(ran.status.exited_with(5)) << to_string(ran.status) << ran.err;
    EXPECT_TRUE(holdfast(Words{"run", "--contain", "pidns", "--"} + home.animal("exiter", {"--signal=15"}))
                    .status.exited_with(143));
    EXPECT_TRUE(holdfast({"run", "--contain", "pidns", "--", "/no/such"}).status.exited_with(127));
    for (const char* animal : {"fork_storm", "setsid_daemon", "fork_chain", "pty_child"}) {
        scene.start({.holdfast = quickly + Words{"--contain", "pidns"}, .command = home.animal(animal)});
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(scene.host().kill());
        expect_nothing_left();
    }
}

} // namespace

} // namespace holdfast::harness
