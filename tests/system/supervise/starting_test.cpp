// Starting: a state with progress, patient with the slow and not with the stuck.
#include "supervise/fixture.hpp"

namespace holdfast::supervise_test {

TEST_F(SupervisorTest, G7AStartThatMovesIsWaitedForHoweverLong) {
    Supervisor supervisor = make();
    HelperSpec spec = healthy({"--start-ms=1500"});
    spec.stall = 300ms; // much less than the start takes
    auto hold = supervisor.hold(spec);
    EXPECT_EQ(hold->status().state, HelperState::starting);
    // Its health method says where it is; anybody can see that it moves.
    std::string first;
    EXPECT_TRUE(harness::eventually(Deadline::in(10s), [&] {
        if (first.empty())
            first = hold->status().progress;
        return !first.empty() && hold->status().progress != first;
    })) << first;
    const auto reply = hold->request("pid");
    EXPECT_EQ(reply->generation, 1U) << text_of(reply);
    EXPECT_EQ(hold->status().starts, 1U);
}

TEST_F(SupervisorTest, G7ProgressBySdNotifyCountsToo) {
    Supervisor supervisor = make();
    HelperSpec spec = helper({"--notify", "--start-ms=1200"});
    spec.ready_by = ReadyBy::notify;
    spec.stall = 300ms;
    auto hold = supervisor.hold(spec);
    EXPECT_TRUE(
        harness::eventually(Deadline::in(10s), [&] { return hold->status().progress.ends_with("/100"); }));
    EXPECT_EQ(hold->wait_ready().value_or(0), 1U);
    EXPECT_EQ(hold->status().progress, "");
}

TEST_F(SupervisorTest, G7AStartThatStandsStillIsReplacedAndGivenUp) {
    Supervisor supervisor = make();
    HelperSpec spec = healthy({"--stall"});
    spec.stall = 150ms;
    spec.respawn.initial = 10ms;
    spec.respawn.max_failures = 3;
    auto hold = supervisor.hold(spec);
    const auto reply = hold->request("echo");
    ASSERT_EQ(reply.error().code, Errc::gave_up) << text_of(reply);
    EXPECT_NE(reply.error().message.find("its start made no progress"), std::string::npos)
        << reply.error().message;
    EXPECT_EQ(hold->status().starts, 3U);
    expect_nothing_left();
}

TEST_F(SupervisorTest, ARequestDuringTheStartWaitsWithinItsOwnDeadline) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(healthy({"--start-ms=30000"}));
    const auto reply = hold->request("echo", "{}", {.timeout = 200ms});
    EXPECT_EQ(reply.error().code, Errc::timed_out);
    EXPECT_NE(reply.error().message.find("did not become ready"), std::string::npos) << reply.error().message;
    EXPECT_EQ(hold->wait_ready(50ms).error().code, Errc::timed_out);
    EXPECT_EQ(hold->status().starts, 1U) << "nobody's impatience kills it";
}

TEST_F(SupervisorTest, AWedgedHelperIsReplacedAndASlowOneIsNot) {
    Supervisor supervisor = make();
    HelperSpec spec = healthy();
    spec.health.every = 50ms;
    spec.health.within = 150ms;
    spec.health.misses = 3;
    auto hold = supervisor.hold(spec);
    const int first = number(hold->request("pid"));
    EXPECT_EQ(text_of(hold->request("sleep", R"({"ms":1500})")), "\"slept\"") << "slow, and alive";
    EXPECT_EQ(number(hold->request("pid")), first);
    auto stuck = hold->start("hang", "{}", {});
    const auto reply = hold->request("pid");
    EXPECT_EQ(reply.error().code, Errc::closed) << "it was sent to the wedged one";
    EXPECT_EQ(stuck->wait(5s).error().code, Errc::closed);
    EXPECT_NE(number(hold->request("pid")), first);
    EXPECT_NE(hold->status().failure.find("no longer answers"), std::string::npos);
}

TEST_F(SupervisorTest, ReleasedDuringTheStartItEndsAtOnce) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(healthy({"--start-ms=30000"}));
    ASSERT_TRUE(harness::eventually(Deadline::in(5s), [&] { return helpers().size() == 1; }));
    auto call = hold->start("echo", "{}", {});
    hold->release();
    EXPECT_EQ(call->wait(5s).error().code, Errc::closed);
    expect_nothing_left();
}

} // namespace holdfast::supervise_test
