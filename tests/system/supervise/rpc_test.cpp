// Talking to a real helper: both framings, noise, back-pressure, requests of the helper, sessions.
#include "supervise/fixture.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace holdfast::supervise_test {

namespace {

// Collects what callbacks say; waits for a number of them.
class Collected {
public:
    void add(std::string text) {
        const std::scoped_lock lock(mutex_);
        texts_.push_back(std::move(text));
        changed_.notify_all();
    }
    std::vector<std::string> wait_for(std::size_t count, std::chrono::seconds within = patient(10s)) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, within, [&] { return texts_.size() >= count; });
        return texts_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> texts_;
};

} // namespace

TEST_F(SupervisorTest, BothFramingsCarryAnything) {
    Supervisor supervisor = make();
    for (const RpcFraming framing : {RpcFraming::newline, RpcFraming::content_length}) {
        const bool lines = framing == RpcFraming::newline;
        HelperSpec spec = lines ? helper() : helper({"--framing=content-length"});
        spec.framing = framing;
        auto hold = supervisor.hold(spec);
        EXPECT_EQ(text_of(hold->request("echo", R"({"text":"é \n \"x\""})")), R"({"text":"é \n \"x\""})");
        EXPECT_EQ(hold->request("big", R"({"bytes":3000000})")->json.size(), 3000002U);
        EXPECT_EQ(text_of(hold->request("noise")), "\"after the noise\"");
        EXPECT_GT(hold->status().noise, 5U);
        EXPECT_EQ(text_of(hold->request("fail")), "remote -7: as asked");
        EXPECT_EQ(hold->request("fail")->error->data, "[1]");
        EXPECT_EQ(text_of(hold->request("nope")), "remote -32601: unknown method");
        EXPECT_EQ(text_of(hold->request("echo")), "null");
    }
}

TEST_F(SupervisorTest, AnAnswerOf64MebibytesFailsItsRequestAndHarmsNothing) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    const auto reply = hold->request("big", R"({"bytes":67108864})");
    EXPECT_EQ(reply.error().code, Errc::overflow) << text_of(reply);
    EXPECT_EQ(text_of(hold->request("echo", "[1]")), "[1]");
    EXPECT_EQ(hold->status().starts, 1U);
}

TEST_F(SupervisorTest, AnAnswerThatIsNestedTooDeepIsAnErrorAtOnce) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    for (const char* params : {R"({"levels":1025})", R"({"levels":1025,"last":1})", R"({"levels":500000})"}) {
        const auto reply = hold->request("deep", params);
        ASSERT_FALSE(reply) << params;
        EXPECT_EQ(reply.error().code, Errc::protocol) << reply.error().message;
        EXPECT_NE(reply.error().message.find("nested deeper than 1024 levels"), std::string::npos)
            << reply.error().message;
    }
    EXPECT_EQ(text_of(hold->request("deep", R"({"levels":3})")), "[[[]]]");
    EXPECT_EQ(hold->status().starts, 1U);
}

TEST_F(SupervisorTest, ManyThreadsAskAtOnceAndEachGetsItsOwn) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 200; ++i) {
                const std::string params = base::cat("{\"t\":", t, ",\"i\":", i, '}');
                wrong += text_of(hold->request("echo", params)) != params;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST_F(SupervisorTest, DeadlinesAndCancellationEndACall) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    EXPECT_EQ(hold->request("sleep", R"({"ms":5000})", {.timeout = 100ms}).error().code, Errc::timed_out);
    auto call = hold->start("sleep", R"({"ms":3600000})", {.timeout = std::nullopt});
    EXPECT_EQ(call->wait(50ms).error().code, Errc::timed_out) << "the wait is over, the call is not";
    EXPECT_FALSE(call->done());
    std::thread other([&] { call->cancel(); });
    EXPECT_EQ(call->wait(patient(5s)).error().code, Errc::cancelled);
    other.join();
    EXPECT_EQ(text_of(hold->request("echo", "[2]")), "[2]");
}

TEST_F(SupervisorTest, TheHelperIsToldOfACancellationInItsDialect) {
    Supervisor supervisor = make();
    for (const RpcCancel cancel : {RpcCancel::silent, RpcCancel::lsp, RpcCancel::mcp}) {
        HelperSpec spec = helper({"--framing=content-length"});
        spec.framing = RpcFraming::content_length;
        spec.cancel = cancel;
        auto hold = supervisor.hold(spec);
        ASSERT_TRUE(hold->wait_ready().has_value());
        auto call = hold->start("sleep", R"({"ms":3600000})", {.timeout = std::nullopt}); // its first: id 1
        call->cancel();
        EXPECT_EQ(call->wait(patient(5s)).error().code, Errc::cancelled);
        EXPECT_EQ(hold->request("sleep", R"({"ms":3600000})", {.timeout = 50ms}).error().code,
                  Errc::timed_out);
        const char* told = cancel == RpcCancel::lsp ? R"(["$/cancelRequest 1","$/cancelRequest 2"])"
                           : cancel == RpcCancel::mcp
                               ? R"(["notifications/cancelled 1","notifications/cancelled 2"])"
                               : "[]";
        EXPECT_EQ(text_of(hold->request("cancelled")), told);
    }
}

TEST_F(SupervisorTest, AnswersComeByCallbackToo) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    Collected seen;
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(hold->start("echo", base::cat('[', i, ']'), {},
                                [&](Result<Reply> reply) { seen.add(text_of(reply)); }));
    EXPECT_EQ(seen.wait_for(100).size(), 100U);
    std::vector<std::string> texts = seen.wait_for(100);
    std::vector<std::string> wanted;
    for (int i = 0; i < 100; ++i)
        wanted.push_back(base::cat('[', i, ']'));
    std::ranges::sort(texts); // their order is not promised
    std::ranges::sort(wanted);
    EXPECT_EQ(texts, wanted);
}

TEST_F(SupervisorTest, NotificationsReachSubscribersAcrossARespawn) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    auto other = supervisor.hold(helper());
    Collected seen;
    Collected unwanted;
    auto kept = hold->subscribe(
        "note", [&](std::string_view, std::string_view params) { seen.add(std::string(params)); });
    auto elsewhere = other->subscribe(
        "other", [&](std::string_view, std::string_view params) { unwanted.add(std::string(params)); });
    ASSERT_TRUE(hold->request("notify", R"({"count":3})").has_value());
    EXPECT_EQ(seen.wait_for(3), (std::vector<std::string>{R"({"i":0})", R"({"i":1})", R"({"i":2})"}));
    kill_by_pid(number(hold->request("pid")));
    ASSERT_TRUE(hold->request("notify", R"({"count":1})").has_value());
    EXPECT_EQ(seen.wait_for(4).size(), 4U);
    kept->cancel();
    ASSERT_TRUE(hold->request("notify", R"({"count":1})").has_value());
    EXPECT_EQ(seen.wait_for(5, 1s).size(), 4U);
    EXPECT_TRUE(unwanted.wait_for(1, 1s).empty());
}

TEST_F(SupervisorTest, TheNewestHoldServesASurvivorTakesOverAndNobodyIsAnError) {
    Supervisor supervisor = make();
    auto old_hold = supervisor.hold(helper());
    auto new_hold = supervisor.hold(helper());
    auto first = old_hold->serve(
        "host.llm.complete", [](IncomingRequest request) { EXPECT_TRUE(request.reply(R"({"by":"old"})")); });
    Collected held;
    std::vector<IncomingRequest> unanswered;
    std::mutex mutex;
    auto second = new_hold->serve("host.llm.complete", [&](IncomingRequest request) {
        const std::scoped_lock lock(mutex);
        held.add(std::string(request.params()));
        unanswered.push_back(std::move(request));
    });
    const char* ask = R"({"what":"host.llm.complete"})";
    auto call = old_hold->start("ask", ask, {});
    ASSERT_EQ(held.wait_for(1).size(), 1U) << "the newest is asked";
    EXPECT_EQ(text_of(old_hold->request("echo", "[1]")), "[1]") << "a slow handler blocks no answer";
    new_hold->release(); // it goes without answering
    EXPECT_EQ(text_of(call->wait(patient(5s))), R"({"answer":{"by":"old"}})");
    {
        const std::scoped_lock lock(mutex);
        EXPECT_EQ(unanswered.front().reply("1").error().code, Errc::not_found) << "too late";
        unanswered.clear();
    }
    first->cancel();
    const auto refused = old_hold->request("ask", ask);
    EXPECT_NE(text_of(refused).find("nobody here serves host.llm.complete"), std::string::npos)
        << text_of(refused);
}

TEST_F(SupervisorTest, AHandlerThatForgetsToAnswerAnswersWithAnError) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    auto served = hold->serve("*", [](IncomingRequest) {});
    EXPECT_NE(text_of(hold->request("ask")).find("did not answer"), std::string::npos);
}

TEST_F(SupervisorTest, AHelperThatDoesNotReadCostsBoundedMemoryAndNobodyHangs) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.limits.max_unsent_bytes = 4'000'000;
    auto hold = supervisor.hold(spec);
    ASSERT_TRUE(hold->request("deaf").has_value());
    const std::string params = base::cat("[\"", std::string(50'000, 'x'), "\"]");
    std::vector<PendingCall> calls;
    std::optional<Error> refused;
    for (int i = 0; i < 1000 && !refused; ++i) {
        auto call = hold->start("echo", params, {.timeout = 500ms});
        ASSERT_TRUE(call.has_value());
        if (call->done()) {
            const auto reply = call->wait();
            if (!reply && reply.error().code == Errc::overflow)
                refused = reply.error();
        }
        calls.push_back(std::move(*call));
    }
    ASSERT_TRUE(refused.has_value());
    EXPECT_NE(refused->message.find("overflow: "), std::string::npos);
    EXPECT_EQ(calls.front().wait(patient(5s)).error().code, Errc::timed_out);
    auto other = supervisor.hold(spec);
    EXPECT_EQ(other->request("echo", "[]", {.timeout = 100ms}).error().code, Errc::timed_out)
        << "there is room for others";
    hold->release();
    other->release();
    expect_nothing_left();
}

TEST_F(SupervisorTest, SessionsOpenOnceOnEachGeneration) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    std::atomic<int> opened = 0;
    Session session = hold->session([&](Session& on) -> Result<void> {
        auto reply = on.request("echo", R"({"open":1})");
        if (!reply)
            return std::unexpected(reply.error());
        ++opened;
        return {};
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] { EXPECT_EQ(text_of(session.request("echo", "[1]")), "[1]"); });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(opened, 1);
    EXPECT_EQ(number(session.request("count")), 5) << "opened before the first of them";
    kill_by_pid(number(session.request("pid")));
    EXPECT_EQ(text_of(session.request("echo", "[2]", {.idempotent = true})), "[2]");
    EXPECT_EQ(opened, 2);
    EXPECT_EQ(session.open_on(), 2U);
    hold->release();
    EXPECT_EQ(session.request("echo").error().code, Errc::closed);
}

TEST_F(SupervisorTest, AnOpeningMayAskFromAnyThread) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    std::optional<Session> session;
    session.emplace(hold->session([&](Session& on) -> Result<void> {
        std::string other;
        std::thread thread([&] { other = text_of(on.request("echo", "[1]", {.timeout = patient(20s)})); });
        thread.join();
        EXPECT_EQ(other, "[1]") << "through what it was given, from another thread";
        EXPECT_EQ(text_of(session->request("echo", "[2]", {.timeout = patient(20s)})), "[2]")
            << "through the session itself, from its own";
        return {};
    }));
    EXPECT_EQ(text_of(session->request("echo", "[3]")), "[3]");
    EXPECT_EQ(number(session->request("count")), 3);
}

TEST_F(SupervisorTest, AnOpeningThatThrowsIsTriedAgainByTheNextRequest) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    std::atomic<int> openings = 0;
    Session session = hold->session([&](Session& on) -> Result<void> {
        if (++openings <= 2)
            throw std::runtime_error("no login today");
        auto reply = on.request("echo");
        return reply ? Result<void>{} : std::unexpected(reply.error());
    });
    EXPECT_THROW(static_cast<void>(session.request("echo")), std::runtime_error);
    std::thread other([&] {
        EXPECT_THROW(static_cast<void>(session.request("echo", "[0]", {.timeout = patient(5s)})),
                     std::runtime_error)
            << "nobody is opening it any more";
    });
    other.join();
    EXPECT_EQ(text_of(session.request("echo", "[1]", {.timeout = patient(5s)})), "[1]");
    EXPECT_EQ(openings, 3) << "nothing goes out before it is open";
    EXPECT_EQ(session.open_on(), 1U);
}

// What an opening says of something else that is closed says nothing of this helper, which is there.
TEST_F(SupervisorTest, AnOpeningIsRepeatedOnlyWhenItsGenerationIsLost) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    HelperSpec elsewhere = helper();
    elsewhere.key = "elsewhere";
    auto other = supervisor.hold(elsewhere);
    other->release();
    int openings = 0;
    Session session = hold->session([&](Session& on) -> Result<void> {
        if (++openings == 1) {
            auto lost = on.request("crash");
            return std::unexpected(lost.error());
        }
        auto reply = other->request("echo");
        return reply ? Result<void>{} : std::unexpected(reply.error());
    });
    const auto reply = session.request("echo", "[1]", {.timeout = patient(10s)});
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code, Errc::closed) << reply.error().message;
    EXPECT_EQ(openings, 2) << "again on the successor, and never again on that";
}

TEST_F(SupervisorTest, ASessionThatCannotOpenSaysSo) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    Session session =
        hold->session([](Session&) -> Result<void> { return fail(Errc::protocol, "no such account"); });
    EXPECT_EQ(text_of(session.request("echo")), "protocol: no such account");
    EXPECT_EQ(session.open_on(), 0U);
}

} // namespace holdfast::supervise_test
