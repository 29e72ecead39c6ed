// Whose death ends a helper: the host's, by pidfd and not by getppid; and what an init has to do.
#include "keep/fixture.hpp"

namespace holdfast::harness {

namespace {

TEST_F(Keep, AHostThreadThatEndsIsNotTheHostsDeath) {
    scene.start({.host = {"--thread"}, .holdfast = quickly, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(next_line(), "thread gone 0");
    EXPECT_FALSE(scene.front().ended(Deadline::in(500ms)));
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
    EXPECT_FALSE(scene.front().ended(Deadline::in(500ms)));
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
    EXPECT_FALSE(scene.front().ended(Deadline::in(300ms)));
    ASSERT_TRUE(other->kill());
    EXPECT_EQ(scene.status(), 128 + SIGKILL);
    expect_nothing_left();
}

TEST_F(Keep, AHostThatIsNotThereIsSaidSo) {
    auto gone = Child::spawn(home.command_of("zoo/exiter", {}));
    ASSERT_TRUE(gone);
    ASSERT_TRUE(gone->wait(Deadline::in(patience)));
    for (const std::string& host :
         {std::to_string(gone->pid()), std::string("-1"), std::string("0"), std::string("somebody")}) {
        const auto ran = holdfast({"run", "--host", host, "--", "/bin/true"});
        EXPECT_TRUE(ran.status.exited_with(64)) << host << ": " << ran.err;
        EXPECT_NE(ran.err.find("--host"), std::string::npos);
    }
}

TEST_F(Keep, AFrontWhoseParentHasGoneAlreadyStartsNothing) {
    // The shell in between ends at once; what it started is asked to begin only then.
    const auto ran =
        holdfast(Words{"run", "--host", "none", "--"} +
                 sh("(while [ \"$(cut -d' ' -f4 /proc/self/stat)\" = $$ ]; do :; done; :) & exit 0"));
    EXPECT_TRUE(ran.status.exited_with(0));
    expect_nothing_left();
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
    start(sh("trap 'exit 6' TERM; \"$@\" & wait; wait", home.animal("exiter", {"--delay-ms=60000"})));
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

} // namespace

} // namespace holdfast::harness
