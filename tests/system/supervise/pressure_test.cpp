// Back-pressure both ways: whoever does not read costs bounded memory, and never makes the other side wait
// for ever.
#include "supervise/fixture.hpp"

#include "core/text.hpp"

#include <atomic>
#include <mutex>
#include <thread>

namespace holdfast::supervise_test {

// It writes megabytes before it reads the next request, and so do we: each side's pipe is full while the
// other is busy writing. A side that wrote without reading would stop here for ever.
TEST_F(SupervisorTest, BothSidesWritingAtOnceIsNoDeadlock) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    std::atomic<std::uint64_t> notes = 0;
    auto kept = hold->subscribe("note", [&](auto, auto) { ++notes; });
    const std::string params = core::cat("[\"", std::string(1'000'000, 'x'), "\"]");
    std::vector<PendingCall> calls;
    auto flood = hold->start("notify", R"({"count":50000})", {.timeout = 60s});
    ASSERT_TRUE(flood.has_value());
    for (int i = 0; i < 20; ++i) {
        auto call = hold->start("echo", params, {.timeout = 60s});
        ASSERT_TRUE(call.has_value());
        calls.push_back(std::move(*call));
    }
    EXPECT_EQ(text_of(flood->wait()), "true");
    for (PendingCall& call : calls) {
        const auto reply = call.wait();
        ASSERT_TRUE(reply.has_value()) << reply.error().message;
        EXPECT_TRUE(reply->json == params);
    }
    EXPECT_TRUE(harness::eventually(Deadline::in(20s),
                                    [&] { return notes + hold->status().dropped_notifications == 50'000; }))
        << notes << " heard, " << hold->status().dropped_notifications << " dropped, " << hold->status().noise
        << " noise";
}

TEST_F(SupervisorTest, ASlowSubscriberHoldsUpNoAnswerAndWhatItMissesIsCounted) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.limits.max_notifications = 100;
    auto hold = supervisor.hold(spec);
    std::mutex busy;
    std::atomic<int> heard = 0;
    std::unique_lock lock(busy); // it does not come back before we let it
    auto kept = hold->subscribe("note", [&](auto, auto) {
        const std::scoped_lock wait(busy);
        ++heard;
    });
    ASSERT_TRUE(hold->request("notify", R"({"count":1000})").has_value());
    EXPECT_EQ(text_of(hold->request("echo", "[1]")), "[1]");
    EXPECT_GE(hold->status().dropped_notifications, 899U);
    lock.unlock();
    EXPECT_TRUE(harness::eventually(Deadline::in(20s), [&] {
        return static_cast<std::uint64_t>(heard) + hold->status().dropped_notifications == 1000;
    }));
    kept->cancel();
}

TEST_F(SupervisorTest, RequestsOfTheHelperAreBoundedWithAStatedError) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.limits.max_requests = 64;
    auto hold = supervisor.hold(spec);
    std::mutex mutex;
    std::vector<IncomingRequest> held;
    auto served = hold->serve("slow", [&](IncomingRequest request) {
        const std::scoped_lock lock(mutex);
        held.push_back(std::move(request));
    });
    std::vector<PendingCall> calls;
    for (int i = 0; i < 100; ++i) {
        auto call = hold->start("ask", R"({"what":"slow"})", {.timeout = 60s});
        ASSERT_TRUE(call.has_value());
        calls.push_back(std::move(*call));
    }
    EXPECT_EQ(text_of(hold->request("echo", "[1]")), "[1]") << "nobody waits for them";
    EXPECT_TRUE(harness::eventually(Deadline::in(20s), [&] {
        const std::scoped_lock lock(mutex);
        return held.size() == 64;
    }));
    for (std::size_t i = 64; i < 100; ++i)
        EXPECT_NE(text_of(calls[i].wait(20s)).find("overflow"), std::string::npos);
    {
        const std::scoped_lock lock(mutex);
        for (IncomingRequest& request : held)
            EXPECT_TRUE(request.reply("\"at last\"").has_value());
        held.clear();
    }
    for (std::size_t i = 0; i < 64; ++i)
        EXPECT_EQ(text_of(calls[i].wait(20s)), R"({"answer":"at last"})");
}

// It asks and never reads what it is told.
TEST_F(SupervisorTest, AnswersThatNobodyReadsAreBounded) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    const std::string answer = core::cat('"', std::string(200'000, 'y'), '"');
    std::atomic<int> sent = 0;
    std::atomic<int> refused = 0;
    auto served = hold->serve("host.echo", [&](IncomingRequest request) {
        const auto replied = request.reply(answer);
        ++(replied ? sent : refused);
        if (!replied) {
            EXPECT_EQ(replied.error().code, Errc::overflow) << replied.error().message;
        }
    });
    ASSERT_TRUE(hold->notify("pester", R"({"count":200})").has_value());
    EXPECT_TRUE(harness::eventually(Deadline::in(30s), [&] { return sent + refused == 200; }))
        << sent << ' ' << refused;
    EXPECT_GT(refused, 0);
    EXPECT_LT(sent, 60) << "8 MiB are kept, and what fits into the pipe";
    hold->release();
    expect_nothing_left();
}

} // namespace holdfast::supervise_test
