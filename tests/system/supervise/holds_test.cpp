// Holds: one helper for all who hold it, none when nobody does.
#include "supervise/fixture.hpp"

namespace holdfast::supervise_test {

TEST_F(SupervisorTest, AHoldStartsTheHelperAndItsReleaseEndsIt) {
    Supervisor supervisor = make();
    {
        auto hold = supervisor.hold(helper());
        ASSERT_TRUE(hold.has_value()) << hold.error().message;
        EXPECT_EQ(text_of(hold->request("echo", R"({"a":[1,2]})")), R"({"a":[1,2]})");
        EXPECT_EQ(helpers().size(), 1U);
        EXPECT_EQ(hold->status().state, HelperState::ready);
        EXPECT_EQ(hold->status().pid, helpers().front());
    }
    expect_nothing_left();
    const auto status = supervisor.status();
    ASSERT_EQ(status.size(), 1U);
    EXPECT_EQ(status[0].second.state, HelperState::idle);
}

TEST_F(SupervisorTest, G5ThreeHoldersOneProcessAndNoneAfterTheLast) {
    Supervisor supervisor = make();
    std::vector<Hold> holds;
    std::vector<int> pids;
    for (int i = 0; i < 3; ++i) {
        auto hold = supervisor.hold(helper());
        ASSERT_TRUE(hold.has_value());
        holds.push_back(std::move(*hold));
        pids.push_back(number(holds.back().request("pid")));
    }
    EXPECT_EQ(helpers().size(), 1U);
    EXPECT_EQ(pids[0], pids[2]);
    holds.erase(holds.begin());
    EXPECT_EQ(number(holds[0].request("pid")), pids[0]) << "the others keep it";
    holds.clear(); // dropped, not closed
    expect_nothing_left();
}

TEST_F(SupervisorTest, DifferentKeysAreDifferentHelpers) {
    Supervisor supervisor = make();
    auto one = supervisor.hold(helper());
    HelperSpec other = helper();
    other.key = "another";
    auto two = supervisor.hold(other);
    HelperSpec with_variable = helper();
    with_variable.extra_environment = {"A=1"};
    auto three = supervisor.hold(with_variable);
    EXPECT_NE(number(one->request("pid")), number(two->request("pid")));
    EXPECT_NE(number(one->request("pid")), number(three->request("pid")));
    EXPECT_EQ(helpers().size(), 3U);
}

TEST_F(SupervisorTest, AReleasedHoldIsClosed) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    auto other = supervisor.hold(helper());
    hold->release();
    EXPECT_EQ(hold->request("echo").error().code, Errc::closed);
    EXPECT_EQ(hold->subscribe("x", [](auto, auto) {}).error().code, Errc::closed);
    EXPECT_EQ(hold->status().state, HelperState::closed);
    EXPECT_TRUE(other->request("echo").has_value());
}

TEST_F(SupervisorTest, AHelperLingersForTheNextHold) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.linger = 30s; // longer than a loaded machine takes to come back
    int first = 0;
    {
        auto hold = supervisor.hold(spec);
        first = number(hold->request("pid"));
    }
    EXPECT_EQ(helpers(), std::vector<pid_t>{first}) << "nobody holds it, and it is there";
    {
        auto hold = supervisor.hold(spec);
        EXPECT_EQ(number(hold->request("pid")), first);
        EXPECT_EQ(hold->status().starts, 1U);
    }
    ASSERT_TRUE(supervisor.shutdown().has_value());
    expect_nothing_left();
}

TEST_F(SupervisorTest, ALingerEnds) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.linger = 200ms;
    {
        auto hold = supervisor.hold(spec);
        ASSERT_TRUE(hold->request("pid").has_value());
    }
    expect_nothing_left(20s);
}

TEST_F(SupervisorTest, AHoldDuringTheStopGetsANewGeneration) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper({"--ignore-eof"})); // takes until TERM
    const int first = number(hold->request("pid"));
    hold->release();
    auto next = supervisor.hold(helper({"--ignore-eof"}));
    const auto reply = next->request("pid");
    EXPECT_EQ(reply->generation, 2U) << text_of(reply);
    EXPECT_NE(number(reply), first);
    EXPECT_EQ(helpers().size(), 1U);
}

TEST_F(SupervisorTest, DroppingTheSupervisorEndsItsHelpersAndClosesItsHolds) {
    std::optional<Hold> hold;
    {
        Supervisor supervisor = make();
        hold.emplace(std::move(*supervisor.hold(helper({"--daemon"}))));
        EXPECT_TRUE(hold->request("echo").has_value());
        EXPECT_EQ(helpers().size(), 2U); // it, and its daemon
    }
    EXPECT_EQ(helpers().size(), 0U) << "the destructor waits until nothing is left";
    EXPECT_EQ(hold->request("echo").error().code, Errc::closed);
    hold.reset();
    expect_nothing_left();
}

TEST_F(SupervisorTest, ShutdownSaysWhenNothingIsLeft) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper({"--ignore-eof"}));
    ASSERT_TRUE(hold->wait_ready().has_value());
    EXPECT_TRUE(supervisor.shutdown().has_value());
    EXPECT_TRUE(helpers().empty());
    EXPECT_EQ(supervisor.hold(helper()).error().code, Errc::closed);
    EXPECT_TRUE(supervisor.shutdown().has_value()) << "a second time is fine";
}

TEST_F(SupervisorTest, WhatWasAskedBeforeTheLastReleaseIsAnswered) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.stop_plan = "eof:5s,term:1s,kill";
    std::vector<PendingCall> calls;
    {
        auto hold = supervisor.hold(spec);
        ASSERT_TRUE(hold->wait_ready().has_value());
        for (int i = 0; i < 50; ++i) {
            auto call = hold->start("sleep", R"({"ms":200})", {});
            ASSERT_TRUE(call.has_value());
            calls.push_back(std::move(*call));
        }
    }
    for (PendingCall& call : calls)
        EXPECT_EQ(text_of(call.wait(patient(10s))), "\"slept\"");
    expect_nothing_left();
}

TEST_F(SupervisorTest, WhatCannotBeAnsweredBeforeTheEndFails) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    auto call = hold->start("hang", "{}", {});
    hold->release();
    const auto reply = call->wait(patient(10s));
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code, Errc::closed);
    EXPECT_NE(reply.error().message.find("transport closed, generation 1"), std::string::npos)
        << reply.error().message;
}

TEST_F(SupervisorTest, BadSpecsAreRefusedBeforeAnythingStarts) {
    Supervisor supervisor = make();
    EXPECT_EQ(supervisor.hold({}).error().code, Errc::invalid_argument);
    HelperSpec spec = helper();
    spec.stop_plan = "nonsense";
    EXPECT_EQ(supervisor.hold(spec).error().code, Errc::invalid_argument);
    spec = helper();
    spec.ready_by = ReadyBy::health;
    EXPECT_EQ(supervisor.hold(spec).error().code, Errc::invalid_argument);
    spec = helper();
    spec.extra_environment = {"novalue"};
    EXPECT_EQ(supervisor.hold(spec).error().code, Errc::invalid_argument);
    EXPECT_TRUE(helpers().empty());
}

TEST_F(SupervisorTest, BadSpecsAreRefusedForAKnownHelperToo) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->request("echo").has_value());
    HelperSpec spec = helper();
    spec.stop_plan = "nonsense";
    EXPECT_EQ(supervisor.hold(spec).error().code, Errc::invalid_argument);
    hold->release(); // known, and not running: this spec would have started it
    EXPECT_TRUE(harness::eventually(
        Deadline::in(20s), [&] { return supervisor.status()[0].second.state == HelperState::idle; }));
    EXPECT_EQ(supervisor.hold(spec).error().code, Errc::invalid_argument);
    EXPECT_TRUE(helpers().empty());
}

} // namespace holdfast::supervise_test
