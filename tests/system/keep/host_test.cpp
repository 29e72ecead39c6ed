// Whose death ends a helper: the host's, by pidfd and not by getppid; and what an init has to do.
#include "base/identity_text.hpp"
#include "keep/fixture.hpp"
#include "sys/proc.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <thread>

namespace holdfast::harness {

namespace {

TEST_F(Keep, AHostThreadThatEndsIsNotTheHostsDeath) {
    scene.start({.host = {"--thread"}, .holdfast = quickly, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(next_line(), "thread gone 0");
    EXPECT_FALSE(scene.front().ended(Deadline::exactly(500ms)));
    EXPECT_TRUE(is_alive(scene.animals().front()));
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

TEST_F(Keep, WithoutAHostItOutlivesItsParent) {
    scene.start({.host = {"--null"},
                 .holdfast = quickly + Words{"--host", "none", "--name", "free"},
                 .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(scene.host().kill());
    EXPECT_FALSE(scene.front().ended(Deadline::exactly(500ms)));
    EXPECT_NE(ps().find("\"host_pid\":0"), std::string::npos);
    EXPECT_TRUE(holdfast({"stop", "free"}).status.exited_with(0));
    expect_nothing_left();
}

TEST_F(Keep, AnotherProcessCanBeTheHost) {
    auto other = Child::spawn(home.command_of("zoo/term_ignorer", {}));
    ASSERT_TRUE(other);
    scene.start({.host = {"--null"},
                 .holdfast = quickly + Words{"--host", std::to_string(other->pid())},
                 .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_FALSE(scene.front().ended(Deadline::exactly(300ms)));
    ASSERT_TRUE(other->kill());
    EXPECT_EQ(scene.status(), 128 + SIGKILL);
    expect_nothing_left();
}

TEST_F(Keep, AHostThatIsNotThereIsSaidSo) {
    auto gone = Child::spawn(home.command_of("zoo/exiter", {}));
    ASSERT_TRUE(gone);
    ASSERT_TRUE(gone->wait(Deadline::in(patience)));
    const auto late = holdfast({"run", "--host", std::to_string(gone->pid()), "--", "/bin/true"});
    EXPECT_TRUE(late.status.exited_with(75)) << late.err;
    EXPECT_NE(late.err.find("has ended"), std::string::npos);
    for (const std::string host : {"-1", "0", "somebody"}) {
        const auto ran = holdfast({"run", "--host", host, "--", "/bin/true"});
        EXPECT_TRUE(ran.status.exited_with(64)) << host << ": " << ran.err;
        EXPECT_NE(ran.err.find("--host"), std::string::npos);
    }
}

// The host is killed while the front starts: before, within and after the moment at which it is looked for.
TEST_F(Keep, AHostThatIsKilledDuringTheStartLeavesNothing) {
    constexpr int rounds = 80;
    constexpr auto step = 60us;
    for (int round = 0; round < rounds; ++round) {
        auto spec =
            home.command_of("stage/keep_host", Words{"--null", "--", program("holdfast"), "run"} +
                                                   Words{"--stop", "now", "--", "/bin/sleep", "3600"});
        spec.out = Stdio::null;
        spec.own_session = true; // so that the test, or an init, is a stranger to what it starts
        auto host = Child::spawn(spec);
        ASSERT_TRUE(host) << host.error().message;
        std::this_thread::sleep_for(round * step); // the race itself: there is no event to wait for
        ASSERT_TRUE(host->kill());
    }
    expect_nothing_left();
}

// A front that looks for its host only after it has gone, and was taken in by `adopter`.
class LateFront : public Keep {
protected:
    // Its exit status, and what it said.
    std::pair<int, std::string> run(const Words& options, const Words& env = {}) {
        const std::string said = home.dir().file("said");
        const std::string status = home.dir().file("status");
        auto spec = home.command({});
        // The outer shell ends at once; the inner one waits until it has another parent.
        const std::string inner =
            R"(while read -r pid name state parent rest </proc/$$/stat && [ $parent = $0 ]; do :; done; )"
            R"(exec "$@" 2>)" +
            said;
        spec.argv =
            sh("/bin/sh -c '" + inner + "' $$ \"$@\" & exit 0",
               Words{program("holdfast"), "run"} + options + Words{"--"} + sh("echo started >" + status));
        spec.env.insert(spec.env.end(), env.begin(), env.end());
        spec.own_session = true;
        EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); // we are the adopter, and learn the status
        auto shell = Child::spawn(spec);
        EXPECT_TRUE(shell) << shell.error().message;
        EXPECT_TRUE(shell->wait(Deadline::in(patience)));
        siginfo_t info{};
        EXPECT_TRUE(eventually(Deadline::in(patience), [&] {
            return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0;
        }));
        EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
        started = read_file(status).has_value();
        return {info.si_status, read_file(said).value_or("")};
    }
    bool started = false;
};

TEST_F(LateFront, StartsNothing) {
    const auto [status, said] = run({});
    EXPECT_EQ(status, 75) << said;
    EXPECT_NE(said.find("--host none"), std::string::npos) << said;
    EXPECT_FALSE(started);
}

TEST_F(LateFront, StartsWithoutAHostWhenTold) {
    EXPECT_EQ(run({"--host", "none"}).first, 0);
    EXPECT_TRUE(started);
}

// The leader of a session may have been born to its parent.
TEST_F(Keep, AFrontInASessionOfItsOwnStarts) {
    auto spec = home.command({"run", "--", "/bin/true"});
    spec.own_session = true;
    const auto ran = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ran);
    EXPECT_TRUE(ran->status.exited_with(0)) << ran->err;
}

TEST_F(Keep, AHostThatWasNamedAndHasEndedIsNoHost) {
    auto named = Child::spawn(home.command_of("zoo/term_ignorer", {}));
    ASSERT_TRUE(named);
    auto process = sys::PidFd::open(named->pid());
    ASSERT_TRUE(process);
    const auto identity = sys::identify(*process);
    ASSERT_TRUE(identity);
    auto spec = home.command(Words{"run", "--"} + sh("echo \"<$HOLDFAST_PARENT>\""));
    spec.env.push_back("HOLDFAST_PARENT=" + base::to_word(*identity));
    auto ran = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ran);
    EXPECT_TRUE(ran->status.exited_with(0)) << ran->err;
    EXPECT_EQ(ran->out, "<>\n") << "the helper's parent is the keeper";
    ASSERT_TRUE(named->kill());
    ran = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ran);
    EXPECT_TRUE(ran->status.exited_with(75)) << ran->err;
    EXPECT_EQ(ran->out, "");
}

// `unshare` makes the PID namespace; the front is its PID 1.
class AsInit : public Keep {
protected:
    void start(const Words& command) {
        Words words{"/usr/bin/unshare", "--fork", "--pid", "--mount-proc", "--kill-child"};
        if (::geteuid() != 0)
            words = words + Words{"--user", "--map-root-user"};
        auto spec = home.command({});
        spec.argv = words + Words{program("holdfast"), "run"} + quickly + Words{"--"} + command;
        spec.env.push_back("ZOO_REPORT=" + report);
        spec.in = Stdio::pipe;
        auto started = Child::spawn(spec);
        ASSERT_TRUE(started) << started.error().message;
        unshare = std::move(*started);
        ASSERT_TRUE(wait_for_file(report, Deadline::in(patience)));
        for (const auto& process : descendants(unshare.pid()))
            if (process.ppid == unshare.pid())
                front = Other(process.pid);
        ASSERT_TRUE(front.valid());
    }
    void SetUp() override {
        auto spec = home.command({});
        spec.argv = Words{"/usr/bin/unshare", "--fork", "--pid", "--mount-proc"} +
                    (::geteuid() != 0 ? Words{"--user", "--map-root-user"} : Words{}) + Words{"/bin/true"};
        const auto tried = run_to_end(spec, Deadline::in(patience));
        if (!tried || !tried->status.exited_with(0))
            GTEST_SKIP() << "no PID namespace can be made here";
    }
    std::vector<ProcessInfo> zombies() const {
        auto found = descendants(front.pid());
        std::erase_if(found, [](const ProcessInfo& process) { return process.state != 'Z'; });
        return found;
    }
    const std::string report = home.dir().file("report");
    Child unshare;
    Other front;
};

TEST_F(AsInit, SignalsAreForwardedAndTheStatusIsPassedOn) {
    start(sh("trap 'exit 6' TERM; \"$@\" & wait; wait", home.animal("exiter", {"--delay-ms=3600000"})));
    ASSERT_FALSE(HasFatalFailure());
    front.signal(SIGTERM);
    const auto status = unshare.wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(6)) << to_string(*status);
}

TEST_F(AsInit, OrphansAreReapedWhoeverStartedThem) {
    start(home.animal("term_ignorer"));
    ASSERT_FALSE(HasFatalFailure());
    // As `docker exec` does: a process that enters from outside and leaves a child behind, which then ends.
    auto spec = home.command({});
    spec.argv = Words{"/usr/bin/nsenter", "--target", std::to_string(front.pid()), "--pid", "--mount"};
    if (::geteuid() != 0)
        spec.argv = spec.argv + Words{"--user", "--preserve-credentials"};
    spec.argv = spec.argv + sh("(sleep 0.3) & exit 0");
    const auto entered = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(entered) << entered.error().message;
    ASSERT_TRUE(entered->status.exited_with(0)) << entered->err;
    // It has come home to PID 1 once it is its child, and is gone when PID 1 has no child but the keeper.
    EXPECT_TRUE(eventually(Deadline::in(5s), [&] { return descendants(front.pid()).size() == 2; }))
        << to_string(descendants(front.pid()));
    EXPECT_TRUE(zombies().empty()) << to_string(zombies());
    front.signal(SIGTERM);
    EXPECT_TRUE(unshare.wait(Deadline::in(patience)));
}

TEST_F(AsInit, OrphansOfTheHelperAreReapedWhileItRuns) {
    start(sh("(sleep 0.05 & ) ; (sleep 0.05 &); exec \"$@\"", home.animal("term_ignorer")));
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return descendants(front.pid()).size() == 2; }))
        << to_string(descendants(front.pid()));
    front.signal(SIGTERM);
    EXPECT_TRUE(unshare.wait(Deadline::in(patience)));
}

class StoppedKeeper : public Keep {};

// A keeper that somebody has stopped sees nothing. The front sees it, too, and continues it.
TEST_F(StoppedKeeper, G4ItsDeathEndsTheTreeOfAStoppedKeeper) {
    for (const char* input : {"--null", "--socket"}) {
        scene.start({.host = {input}, .holdfast = quickly, .command = home.animal("setsid_daemon")});
        ASSERT_FALSE(HasFatalFailure());
        scene.keeper().freeze();
        ASSERT_TRUE(scene.host().kill());
        expect_nothing_left();
    }
}

// Stopped after its front has died: the next start continues it.
TEST_F(StoppedKeeper, G2TheNextStartContinuesOneThatHasLostItsFront) {
    scene.start(
        {.host = {"--null"}, .holdfast = {"--stop", "term:5s,kill"}, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    scene.front().signal(SIGKILL);
    ASSERT_TRUE(scene.front().ended());
    scene.keeper().freeze();
    EXPECT_TRUE(holdfast({"run", "--host", "none", "--", "/bin/true"}).status.exited_with(0));
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

TEST_F(StoppedKeeper, G11AStopEndsTheTreeOfAStoppedKeeper) {
    scene.start({.host = {"--null"},
                 .holdfast = Words{"--name", "frozen"} + quickly,
                 .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    scene.keeper().freeze();
    EXPECT_TRUE(holdfast({"stop", "frozen"}).status.exited_with(0));
    EXPECT_FALSE(is_alive(scene.animals().front()));
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

} // namespace

} // namespace holdfast::harness
