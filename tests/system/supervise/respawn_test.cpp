// Crashes: noticed at once, answered by exactly one replacement, and never for ever.
#include "supervise/fixture.hpp"

#include "base/text.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <thread>

namespace holdfast::supervise_test {

TEST_F(SupervisorTest, G6KillIsAnsweredByExactlyOneReplacementAndTheNextRequestWorks) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    const int first = number(hold->request("pid"));
    auto in_flight = hold->start("sleep", R"({"ms":3600000})", {});
    kill_by_pid(first);
    const auto lost = in_flight->wait(patient(5s));
    EXPECT_EQ(text_of(lost).substr(0, 40), "closed: transport closed, generation 1: ");
    const auto reply = hold->request("pid");
    EXPECT_EQ(reply->generation, 2U) << text_of(reply);
    EXPECT_NE(number(reply), first);
    EXPECT_EQ(helpers().size(), 1U);
    EXPECT_EQ(hold->status().starts, 2U);
    hold->release();
    expect_nothing_left();
}

TEST_F(SupervisorTest, G6ASecondKillDuringTheRespawnGivesOneMore) {
    Supervisor supervisor = make();
    // Each start stands until the file is there: the second kill falls into the respawn, however long it
    // takes.
    const std::string told = home.dir().file("told");
    ASSERT_TRUE(harness::write_file(told, ""));
    auto hold = supervisor.hold(healthy({"--start-until=" + told}));
    const int first = number(hold->request("pid"));
    ASSERT_EQ(::unlink(told.c_str()), 0);
    kill_by_pid(first);
    const auto starting = [&] {
        const auto status = hold->status();
        return status.generation == 2 && status.pid != 0 && status.state == HelperState::starting;
    };
    ASSERT_TRUE(harness::eventually(Deadline::in(20s), starting));
    auto waits = hold->start("pid", "", {.timeout = patient(60s)});
    kill_by_pid(hold->status().pid);
    ASSERT_TRUE(harness::write_file(told, ""));
    const auto reply = waits->wait(patient(30s));
    EXPECT_EQ(reply->generation, 3U) << text_of(reply);
    EXPECT_EQ(hold->status().starts, 3U);
    EXPECT_EQ(helpers().size(), 1U);
}

TEST_F(SupervisorTest, AHelperThatDiesAtStartFiveTimesIsThereInTheEnd) {
    Supervisor supervisor = make();
    const std::string counter = home.dir().file("starts");
    HelperSpec spec = healthy({"--counter=" + counter, "--die-first=5"});
    spec.respawn.initial = 20ms;
    auto hold = supervisor.hold(spec);
    EXPECT_EQ(text_of(hold->request("starts")), "6");
    EXPECT_EQ(hold->status().starts, 6U);
    EXPECT_EQ(helpers().size(), 1U);
}

TEST_F(SupervisorTest, G6GivingUpIsAStateThatSaysWhyAndRetryGoesOn) {
    Supervisor supervisor = make();
    const std::string counter = home.dir().file("starts");
    HelperSpec spec = healthy({"--counter=" + counter, "--die-first=4"});
    spec.respawn.initial = 10ms;
    spec.respawn.max_failures = 4;
    auto hold = supervisor.hold(spec);
    const auto reply = hold->request("echo");
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code, Errc::gave_up);
    EXPECT_NE(reply.error().message.find("exited with status 3; 4 failures in a row"), std::string::npos)
        << reply.error().message;
    EXPECT_NE(reply.error().message.find("retry()"), std::string::npos);
    EXPECT_EQ(hold->status().state, HelperState::failed);
    expect_nothing_left();
    EXPECT_EQ(harness::read_file(counter)->size(), 4U) << "it does not loop";
    // A new hold is told at once, and starts nothing.
    auto another = supervisor.hold(spec);
    EXPECT_EQ(another->request("echo").error().code, Errc::gave_up);
    EXPECT_EQ(harness::read_file(counter)->size(), 4U);
    ASSERT_TRUE(hold->retry().has_value());
    EXPECT_EQ(text_of(hold->request("starts")), "5");
}

TEST_F(SupervisorTest, ACommandThatDoesNotExistFailsAtOnceWithItsReason) {
    Supervisor supervisor = make();
    HelperSpec spec;
    spec.command = {"/nonexistent/helper"};
    auto hold = supervisor.hold(spec);
    const auto reply = hold->request("echo");
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code, Errc::gave_up);
    EXPECT_NE(reply.error().message.find("cannot start \"/nonexistent/helper\": No such file or directory"),
              std::string::npos)
        << reply.error().message;
    EXPECT_EQ(hold->status().starts, 1U);
}

TEST_F(SupervisorTest, IdempotentRequestsAreSentAgainAndOthersAreNot) {
    Supervisor supervisor = make();
    const std::string counter = home.dir().file("starts");
    auto hold = supervisor.hold(helper({"--counter=" + counter}));
    const int first = number(hold->request("pid"));
    RequestOptions again;
    again.idempotent = true;
    auto kept = hold->start("sleep", R"({"ms":300})", again);
    auto lost = hold->start("sleep", R"({"ms":300})", {});
    kill_by_pid(first);
    EXPECT_EQ(lost->wait(patient(5s)).error().code, Errc::closed);
    const auto reply = kept->wait(patient(10s));
    EXPECT_EQ(text_of(reply), "\"slept\"");
    EXPECT_EQ(reply->generation, 2U);
}

// Those that the lost generation cannot have seen whole go to its successor: with all that they said.
TEST_F(SupervisorTest, RequestsThatWereNeverSentReachTheSuccessorWithTheirParams) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    const int first = number(hold->request("pid"));
    ASSERT_EQ(text_of(hold->request("deaf")), "true");
    std::vector<std::pair<std::string, PendingCall>> calls;
    for (int i = 0; i < 8; ++i) { // more than the pipe takes
        std::string params = base::cat("[", i, ",\"", std::string(30'000, 'x'), "\"]");
        auto call = hold->start("echo", params, {.timeout = patient(60s)});
        ASSERT_TRUE(call.has_value());
        calls.emplace_back(std::move(params), std::move(*call));
    }
    kill_by_pid(first);
    int sent_again = 0;
    for (auto& [params, call] : calls) {
        const auto reply = call.wait(patient(60s));
        if (!reply) {
            EXPECT_EQ(reply.error().code, Errc::closed) << reply.error().message;
            continue;
        }
        EXPECT_EQ(reply->generation, 2U);
        EXPECT_TRUE(reply->json == params) << text_of(reply).substr(0, 100);
        ++sent_again;
    }
    EXPECT_GE(sent_again, 5);
}

TEST_F(SupervisorTest, ReplacingAGenerationThatIsGoneJoinsItsSuccessor) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_EQ(hold->wait_ready().value_or(0), 1U);
    EXPECT_EQ(hold->replace(1).value_or(0), 2U);
    EXPECT_EQ(hold->replace(1).value_or(0), 2U) << "2 is there already";
    EXPECT_EQ(hold->status().starts, 2U);
    // The successor is dead too: that is noticed.
    kill_by_pid(number(hold->request("pid")));
    EXPECT_EQ(hold->replace(2).value_or(0), 3U);
    EXPECT_EQ(helpers().size(), 1U);
}

// The host may change its environment at any time, so only the thread that holds looks at it: what is started
// later has what the host had then.
TEST_F(SupervisorTest, AReplacementHasTheEnvironmentThatTheHostHadAtTheHold) {
    Supervisor supervisor = make();
    const char* const name = "HOLDFAST_TEST_WORD";
    ASSERT_EQ(::setenv(name, "then", 1), 0);
    auto hold = supervisor.hold(helper());
    const int first = number(hold->request("pid"));
    ASSERT_EQ(::setenv(name, "now", 1), 0);
    EXPECT_EQ(sys::read_environment_variable(first, name), "then");
    kill_by_pid(first);
    const int second = number(hold->request("pid"));
    EXPECT_EQ(sys::read_environment_variable(second, name), "then");
    hold->release();
    ASSERT_TRUE(harness::eventually(
        Deadline::in(20s), [&] { return supervisor.status()[0].second.state == HelperState::idle; }));
    auto next = supervisor.hold(helper());
    EXPECT_EQ(sys::read_environment_variable(number(next->request("pid")), name), "now");
    ::unsetenv(name);
}

TEST_F(SupervisorTest, ManyWitnessesOfOneCrashGetOneReplacement) {
    Supervisor supervisor = make();
    auto first = supervisor.hold(helper());
    ASSERT_TRUE(first->wait_ready().has_value());
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            auto hold = supervisor.hold(helper());
            EXPECT_EQ(hold->replace(1).value_or(0), 2U);
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(first->status().starts, 2U);
}

TEST_F(SupervisorTest, AHelperThatClosesItsOutputIsReplaced) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper({"--close-output"}));
    const auto reply = hold->request("sleep", R"({"ms":1000})");
    EXPECT_EQ(reply.error().code, Errc::closed) << text_of(reply);
    EXPECT_EQ(hold->wait_ready().value_or(0), 2U);
}

TEST_F(SupervisorTest, G4AKilledKeeperTakesItsTreeAlongAndIsReplaced) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper({"--daemon"}));
    ASSERT_TRUE(hold->request("echo").has_value());
    const auto before = helpers();
    ASSERT_EQ(before.size(), 2U);
    for (const auto& process : harness::marked_processes(home.mark().token()))
        if (process.name == "holdfast-keep")
            kill_by_pid(process.pid);
    const auto next = hold->replace(1, 20s);
    ASSERT_TRUE(next.has_value()) << next.error().message;
    EXPECT_EQ(*next, 2U);
    for (const pid_t old : before)
        for (const pid_t present : helpers())
            EXPECT_NE(old, present);
    hold->release();
    expect_nothing_left();
}

// The keeper dies while the helper is being stopped: the rest of the stop is ours.
TEST_F(SupervisorTest, G4AKeeperKilledDuringTheStopLeavesNothing) {
    Supervisor supervisor = make();
    HelperSpec spec = helper({"--daemon", "--ignore-eof"});
    spec.stop_plan = "eof:1h,kill";
    auto hold = supervisor.hold(spec);
    ASSERT_TRUE(hold->request("echo").has_value());
    hold->release();
    for (const auto& process : harness::marked_processes(home.mark().token()))
        if (process.name == "holdfast-keep")
            kill_by_pid(process.pid);
    expect_nothing_left(20s);
    EXPECT_TRUE(harness::eventually(
        Deadline::in(10s), [&] { return supervisor.status()[0].second.state == HelperState::idle; }));
}

} // namespace holdfast::supervise_test
