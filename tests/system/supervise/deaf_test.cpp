// Those that live and hear nothing: a helper that has closed its input, a keeper that somebody has stopped.
// And a caller who asks for another helper, which is nobody's failure.
#include "supervise/fixture.hpp"

#include <filesystem>

namespace holdfast::supervise_test {

namespace {

class Deaf : public SupervisorTest {
protected:
    static bool is_stopped(pid_t pid) {
        const auto info = harness::inspect(pid);
        return info && info->state == 'T';
    }
    // At its birth the keeper has the helper's ends of the pipes for an instant, too.
    static bool shares_output(int keeper, int helper) {
        std::error_code gone;
        const std::string proc = "/proc/";
        const auto output = std::filesystem::read_symlink(proc + std::to_string(helper) + "/fd/1", gone);
        for (const auto& fd :
             std::filesystem::directory_iterator(proc + std::to_string(keeper) + "/fd", gone))
            if (std::filesystem::read_symlink(fd.path(), gone) == output)
                return true;
        return false;
    }
    // The keeper of the only helper, stopped; with a helper named, once it has let go of that one's pipes.
    sys::Fd stop_keeper(int helper = 0) {
        for (const auto& process : harness::marked_processes(home.mark().token()))
            if (process.name == "holdfast-keep")
                if (auto keeper = harness::open_pidfd(process.pid)) {
                    EXPECT_TRUE(helper == 0 || harness::eventually(Deadline::in(10s), [&] {
                                    return !shares_output(process.pid, helper);
                                }));
                    EXPECT_EQ(harness::pidfd_signal(keeper->get(), SIGSTOP), 0);
                    EXPECT_TRUE(
                        harness::eventually(Deadline::in(10s), [&] { return is_stopped(process.pid); }));
                    return std::move(*keeper);
                }
        ADD_FAILURE() << "there is no keeper";
        return {};
    }
};

constexpr RequestOptions soon{.timeout = patient(10s)};

} // namespace

// What it was asked before is answered, and what comes after goes to the next one.
TEST_F(Deaf, AHelperThatClosesItsInputAndLivesOnIsReplaced) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper({"--ignore-eof"}));
    auto before = hold->start("sleep", R"({"ms":200})", soon);
    ASSERT_TRUE(before.has_value());
    ASSERT_EQ(text_of(hold->request("close-input", "", soon)), "true");
    // At its birth the keeper has that end of the pipe for an instant too; what is written then is lost with
    // it.
    EXPECT_TRUE(harness::eventually(Deadline::in(10s), [&] {
        return hold->status().state != HelperState::ready;
    })) << "it is called ready, and nothing can be asked of it";
    const auto after = hold->request("pid", "", soon);
    ASSERT_TRUE(after.has_value()) << text_of(after);
    EXPECT_EQ(after->generation, 2U);
    const auto slept = before->wait(patient(10s));
    EXPECT_EQ(text_of(slept), "\"slept\"");
    ASSERT_TRUE(slept.has_value());
    EXPECT_EQ(slept->generation, 1U);
    EXPECT_EQ(helpers().size(), 1U);
    EXPECT_NE(hold->status().failure.find("closed its input"), std::string::npos) << hold->status().failure;
}

// It may have done so before anybody has heard that it runs.
TEST_F(Deaf, G6AHelperThatNeverHasAnInputIsGivenUpWithTheReason) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.command = {"/bin/sh", "-c", "exec <&-; exec sleep 3600"};
    spec.stop_plan = "now";
    spec.respawn.initial = 10ms;
    spec.respawn.max_failures = 3;
    auto hold = supervisor.hold(spec);
    ASSERT_TRUE(harness::eventually(Deadline::in(20s), [&] {
        return hold->status().state == HelperState::failed;
    })) << hold->status().failure;
    const auto reply = hold->request("echo", "", soon);
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code, Errc::gave_up) << reply.error().message;
    EXPECT_NE(reply.error().message.find("closed its input"), std::string::npos) << reply.error().message;
    EXPECT_EQ(hold->status().starts, 3U);
}

// Negative control: one that dies has not closed its input, but died.
TEST_F(Deaf, ADeathIsToldAsTheDeathItIs) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    for (Generation one = 1; one <= 5; ++one) {
        kill_by_pid(number(hold->request("pid", "", soon)));
        ASSERT_EQ(hold->replace(one, 10s).value_or(0), one + 1);
        EXPECT_EQ(hold->status().failure, "it was killed by signal 9");
        ASSERT_TRUE(hold->retry().has_value());
    }
}

TEST_F(Deaf, ReplacingCountsAsNoFailure) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.respawn.max_failures = 3;
    spec.respawn.initial = spec.respawn.max = 60s; // none of these waits for it
    auto hold = supervisor.hold(spec);
    ASSERT_EQ(hold->wait_ready(patient(10s)).value_or(0), 1U);
    for (Generation one = 1; one <= 6; ++one) {
        const auto next = hold->replace(one, 10s);
        ASSERT_TRUE(next.has_value()) << next.error().message;
        ASSERT_EQ(*next, one + 1);
    }
    EXPECT_EQ(text_of(hold->request("echo", "[1]", soon)), "[1]");
}

// ... but a crash does, also when it is by their replacing that callers answer it.
TEST_F(Deaf, G6CrashesThatAreAnsweredByReplacingAreCounted) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.respawn.max_failures = 3;
    spec.respawn.initial = 1ms;
    auto hold = supervisor.hold(spec);
    Result<Generation> next = hold->wait_ready(patient(10s));
    for (int crashes = 0; crashes < 3; ++crashes) {
        ASSERT_TRUE(next.has_value()) << crashes << ": " << next.error().message;
        EXPECT_EQ(hold->request("crash", "", soon).error().code, Errc::closed);
        next = hold->replace(*next, 10s);
    }
    ASSERT_FALSE(next.has_value()) << "generation " << *next;
    EXPECT_EQ(next.error().code, Errc::gave_up);
}

TEST_F(Deaf, G11AStoppedKeeperDoesNotOutlastTheShutdown) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper({"--daemon"}));
    ASSERT_TRUE(hold->request("echo", "", soon).has_value());
    const sys::Fd keeper = stop_keeper();
    const auto done = supervisor.shutdown(15s);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    if (!done) // or the supervisor's end would wait for it
        (void)harness::pidfd_signal(keeper.get(), SIGCONT);
    expect_nothing_left();
}

TEST_F(Deaf, G6ACrashUnderAStoppedKeeperIsAnsweredAllTheSame) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    const int first = number(hold->request("pid", "", soon));
    const sys::Fd keeper = stop_keeper(first);
    kill_by_pid(first);
    const auto reply = hold->request("pid", "", soon);
    EXPECT_TRUE(reply.has_value()) << text_of(reply);
    if (!reply)
        (void)harness::pidfd_signal(keeper.get(), SIGCONT);
}

// The time is kept, and what is there yet is named.
TEST_F(Deaf, G11AShutdownThatTakesLongerNamesWhatItWaitsFor) {
    Supervisor supervisor = make();
    HelperSpec spec = helper({"--ignore-eof"});
    spec.stop_plan = "eof:1h,kill";
    auto hold = supervisor.hold(spec);
    const int pid = number(hold->request("pid", "", soon));
    const auto early = supervisor.shutdown(200ms);
    ASSERT_FALSE(early.has_value());
    EXPECT_EQ(early.error().code, Errc::timed_out);
    EXPECT_NE(early.error().message.find("process " + std::to_string(pid) + " ("), std::string::npos)
        << early.error().message;
    kill_by_pid(pid);
    EXPECT_TRUE(supervisor.shutdown(15s).has_value());
    expect_nothing_left();
}

} // namespace holdfast::supervise_test
