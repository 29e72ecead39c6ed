// Starting: a state with progress, patient with the slow and not with the stuck.
#include "supervise/fixture.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <future>
#include <thread>

namespace holdfast::supervise_test {

TEST_F(SupervisorTest, G7AStartThatMovesIsWaitedForHoweverLong) {
    Supervisor supervisor = make();
    // It starts until it is told, so it is we who see to it that it takes longer than the patience.
    const std::string told = home.dir().file("told");
    HelperSpec spec = healthy({"--start-until=" + told});
    spec.stall = 3s;
    auto hold = supervisor.hold(spec);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(hold->status().state, HelperState::starting);
    // Its health method says where it is; anybody can see that it moves.
    std::string first;
    EXPECT_TRUE(harness::eventually(Deadline::in(10s), [&] {
        if (first.empty())
            first = hold->status().progress;
        return !first.empty() && hold->status().progress != first;
    })) << first;
    std::this_thread::sleep_until(begun + spec.stall +
                                  1s); // there is nothing to wait for but the time itself
    EXPECT_EQ(hold->status().state, HelperState::starting);
    ASSERT_TRUE(harness::write_file(told, ""));
    const auto reply = hold->request("pid");
    EXPECT_EQ(reply->generation, 1U) << text_of(reply);
    EXPECT_EQ(hold->status().starts, 1U);
}

TEST_F(SupervisorTest, G7ProgressBySdNotifyCountsToo) {
    Supervisor supervisor = make();
    const std::string told = home.dir().file("told");
    HelperSpec spec = helper({"--notify", "--start-until=" + told});
    spec.ready_by = ReadyBy::notify;
    spec.stall = 3s;
    auto hold = supervisor.hold(spec);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(
        harness::eventually(Deadline::in(10s), [&] { return hold->status().progress.ends_with("/100"); }));
    std::this_thread::sleep_until(begun + spec.stall + 1s);
    ASSERT_TRUE(harness::write_file(told, ""));
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
    auto hold = supervisor.hold(healthy({"--start-ms=3600000"}));
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
    spec.health.within = 500ms;
    spec.health.misses = 6; // 3 s without a word
    auto hold = supervisor.hold(spec);
    const int first = number(hold->request("pid"));
    EXPECT_EQ(text_of(hold->request("sleep", R"({"ms":4000})")), "\"slept\"") << "slow, and alive";
    EXPECT_EQ(number(hold->request("pid")), first);
    auto stuck = hold->start("hang", "{}", {.timeout = patient(60s)});
    const auto reply = hold->request("pid", "", {.timeout = patient(60s)});
    EXPECT_EQ(reply.error().code, Errc::closed) << "it was sent to the wedged one";
    EXPECT_EQ(stuck->wait(patient(5s)).error().code, Errc::closed);
    EXPECT_NE(number(hold->request("pid")), first);
    EXPECT_NE(hold->status().failure.find("no longer answers"), std::string::npos);
}

// One thread, one request at a time: while it waits for the host's answer it answers nothing.
TEST_F(SupervisorTest, AHelperThatWaitsForOurHandlerIsNotWedged) {
    Supervisor supervisor = make();
    HelperSpec spec = healthy();
    spec.health.every = spec.health.within = 300ms; // a busy machine may keep a helper waiting, too
    spec.health.misses = 3;
    auto hold = supervisor.hold(spec);
    ASSERT_TRUE(hold->wait_ready().has_value());
    std::promise<IncomingRequest> asked;
    auto served = hold->serve("host.llm.complete",
                              [&](IncomingRequest request) { asked.set_value(std::move(request)); });
    auto turn = hold->start("ask-alone", R"({"what":"host.llm.complete"})", {.timeout = patient(60s)});
    IncomingRequest request = asked.get_future().get();
    std::this_thread::sleep_for(3s); // many more questions unanswered than mean wedged
    EXPECT_EQ(hold->status().starts, 1U) << hold->status().failure;
    EXPECT_TRUE(request.reply(R"("text")"));
    EXPECT_EQ(text_of(turn->wait(patient(20s))), R"({"answer":"text"})");
    EXPECT_EQ(hold->status().starts, 1U);
    // And when it no longer waits for us, silence is silence.
    auto stuck = hold->start("hang", "{}", {.timeout = patient(60s)});
    EXPECT_EQ(stuck->wait(patient(30s)).error().code, Errc::closed);
}

TEST_F(SupervisorTest, AnythingThatAHelperSaysIsASignOfLife) {
    Supervisor supervisor = make();
    HelperSpec spec = healthy();
    spec.health.every = 50ms;
    spec.health.within = 1s;
    spec.health.misses = 2;
    auto hold = supervisor.hold(spec);
    ASSERT_TRUE(hold->wait_ready().has_value());
    EXPECT_EQ(text_of(hold->request("mutter", R"({"ms":4000})")), R"("done")");
    EXPECT_EQ(hold->status().starts, 1U) << hold->status().failure;
}

TEST_F(SupervisorTest, AStartThatWaitsForOurHandlerDoesNotStandStill) {
    Supervisor supervisor = make();
    HelperSpec spec = healthy({"--ask-at-start"});
    spec.stall = 1s;
    spec.respawn.max_failures = 1; // one failure is enough to be seen
    auto hold = supervisor.hold(spec);
    std::promise<IncomingRequest> asked;
    auto served =
        hold->serve("host.start", [&](IncomingRequest request) { asked.set_value(std::move(request)); });
    IncomingRequest request = asked.get_future().get();
    std::this_thread::sleep_for(2500ms);
    EXPECT_EQ(hold->status().state, HelperState::starting) << hold->status().failure;
    EXPECT_TRUE(request.reply("1"));
    EXPECT_EQ(hold->wait_ready().value_or(0), 1U) << hold->status().failure;
}

TEST_F(SupervisorTest, ARequestForOneGenerationWaitsForItsStartAndForNoOther) {
    Supervisor supervisor = make();
    const std::string told = home.dir().file("told");
    auto hold = supervisor.hold(healthy({"--start-until=" + told}));
    EXPECT_EQ(text_of(hold->request("echo", "", {.only = 2})),
              "superseded: there is no generation 2 yet; the latest is 1");
    auto waits = hold->start("echo", "[1]", {.only = 1});
    auto lost = hold->start("echo", "[2]", {.timeout = patient(60s), .only = 1});
    ASSERT_TRUE(harness::eventually(Deadline::in(10s), [&] { return hold->status().waiting == 2; }));
    waits->cancel();
    ASSERT_TRUE(harness::eventually(Deadline::in(10s), [&] { return hold->status().pid != 0; }));
    kill_by_pid(hold->status().pid);
    const auto reply = lost->wait(patient(20s));
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code, Errc::superseded) << reply.error().message;
    auto second = hold->start("echo", "[3]", {.timeout = patient(60s), .only = 2});
    ASSERT_TRUE(harness::write_file(told, ""));
    EXPECT_EQ(text_of(hold->request("echo", "[4]")), "[4]");
    EXPECT_EQ(text_of(hold->request("echo", "", {.only = 1})),
              "superseded: generation 1 is no longer there; generation 2 is its successor");
}

TEST_F(SupervisorTest, ReplacingAGenerationThatIsBeingStartedGivesTheNext) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    const Generation seen = hold->status().generation; // asked for, and perhaps not there yet
    EXPECT_EQ(seen, 1U);
    EXPECT_EQ(hold->replace(seen, patient(30s)).value_or(0), 2U);
    EXPECT_EQ(number(hold->request("pid")), hold->status().pid);
    EXPECT_EQ(helpers().size(), 1U);
}

TEST_F(SupervisorTest, ADirectoryThatIsNotThereIsNamed) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.directory = "/nonexistent";
    auto hold = supervisor.hold(spec);
    const auto reply = hold->request("echo");
    ASSERT_EQ(reply.error().code, Errc::gave_up) << text_of(reply);
    EXPECT_NE(reply.error().message.find("in the directory \"/nonexistent\": No such file or directory"),
              std::string::npos)
        << reply.error().message;
}

TEST_F(SupervisorTest, AKeeperNamedByARelativePathIsFoundFromAnyDirectory) {
    const std::string keeper = harness::program("holdfast-keep");
    const std::string folder = keeper.substr(0, keeper.rfind('/'));
    std::array<char, PATH_MAX> before{};
    ASSERT_NE(::getcwd(before.data(), before.size()), nullptr);
    ASSERT_EQ(::chdir(folder.c_str()), 0);
    ::setenv("HOLDFAST_KEEP", "./holdfast-keep", 1);
    Supervisor supervisor = make();
    ASSERT_EQ(::chdir(before.data()), 0);
    HelperSpec spec = helper();
    spec.directory = "/";
    auto hold = supervisor.hold(spec);
    EXPECT_EQ(text_of(hold->request("echo", "[1]")), "[1]");
}

TEST_F(SupervisorTest, ReleasedDuringTheStartItEndsAtOnce) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(healthy({"--start-ms=3600000"}));
    ASSERT_TRUE(harness::eventually(Deadline::in(5s), [&] { return helpers().size() == 1; }));
    auto call = hold->start("echo", "{}", {});
    hold->release();
    EXPECT_EQ(call->wait(patient(5s)).error().code, Errc::closed);
    expect_nothing_left();
}

} // namespace holdfast::supervise_test
