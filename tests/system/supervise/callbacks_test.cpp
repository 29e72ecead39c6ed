// Callbacks: each is called, whatever becomes of the supervisor, and a slow one holds up nobody else.
#include "supervise/fixture.hpp"

#include "base/text.hpp"

#include <atomic>
#include <future>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

namespace holdfast::supervise_test {

namespace {

// A door that callbacks stand before until the test opens it: what is slow takes exactly as long as it must.
// Copies are the same door: a callback may outlive the test's own.
class Door {
public:
    void open() const {
        if (!state_->opened.exchange(true))
            state_->promise.set_value();
    }
    void pass() const {
        ++state_->waiting;
        state_->future.wait();
    }
    [[nodiscard]] int waiting() const { return state_->waiting; }

private:
    struct State {
        std::promise<void> promise;
        std::shared_future<void> future = promise.get_future().share();
        std::atomic<bool> opened = false;
        std::atomic<int> waiting = 0;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

constexpr const char* nothing = "{}";

} // namespace

TEST_F(SupervisorTest, ASlowCallbackHoldsUpNoOtherAnswer) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    const Door door;
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(hold->start("echo", nothing, {}, [door](Result<Reply>) { door.pass(); }));
    std::promise<std::string> other;
    ASSERT_TRUE(
        hold->start("echo", "[2]", {}, [&](Result<Reply> reply) { other.set_value(text_of(reply)); }));
    auto answered = other.get_future();
    ASSERT_EQ(answered.wait_for(patient(20s)), std::future_status::ready);
    EXPECT_EQ(answered.get(), "[2]");
    EXPECT_EQ(text_of(hold->request("echo", "[3]")), "[3]");
    EXPECT_TRUE(harness::eventually(Deadline::in(20s), [&] { return door.waiting() == 3; }));
    door.open();
}

TEST_F(SupervisorTest, ACallbackMayWaitForACallback) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    std::promise<int> deepest;
    const std::function<void(int)> ask = [&](int depth) {
        std::promise<void> inner;
        ASSERT_TRUE(hold->start("echo", nothing, {}, [&](Result<Reply> reply) {
            EXPECT_TRUE(reply.has_value());
            if (depth < 8)
                ask(depth + 1); // and this one waits for it
            else
                deepest.set_value(depth);
            inner.set_value();
        }));
        inner.get_future().wait();
    };
    auto reached = deepest.get_future();
    std::thread first([&] { ask(1); });
    EXPECT_EQ(reached.wait_for(patient(20s)), std::future_status::ready);
    first.join();
}

TEST_F(SupervisorTest, WhatIsOnlyPassedOnHasAThreadWithoutTheHostsOtherCode) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    // More slow callbacks than there may be at a time.
    const Door door;
    constexpr int many = 80;
    std::latch all(many);
    for (int i = 0; i < many; ++i)
        ASSERT_TRUE(hold->start("echo", nothing, {}, [&, door](Result<Reply>) {
            door.pass();
            all.count_down();
        }));
    ASSERT_TRUE(harness::eventually(Deadline::in(30s), [&] { return door.waiting() == 64; }))
        << door.waiting() << ": the bound that the header states";
    std::promise<void> settled;
    ASSERT_TRUE(hold->start("echo", "[2]", {.passed_on = true}, [&](Result<Reply>) { settled.set_value(); }));
    EXPECT_EQ(settled.get_future().wait_for(patient(20s)), std::future_status::ready);
    EXPECT_EQ(door.waiting(), 64);
    door.open();
    all.wait();
}

TEST_F(SupervisorTest, EveryAnswerIsToldAlsoWhenTheSupervisorGoes) {
    constexpr int count = 2000;
    auto told = std::make_shared<std::atomic<int>>(0);
    const Door door;
    {
        Supervisor supervisor = make();
        auto hold = supervisor.hold(helper());
        ASSERT_TRUE(hold->wait_ready().has_value());
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(
                hold->start("hang", nothing, {.timeout = std::nullopt}, [told, door](Result<Reply> reply) {
                    door.pass();
                    *told += !reply && reply.error().code == Errc::closed;
                }));
    }
    EXPECT_EQ(*told, 0) << "all of them are slower than the supervisor's end";
    door.open();
    EXPECT_TRUE(harness::eventually(Deadline::in(30s), [&] { return *told == count; })) << *told;
}

TEST_F(SupervisorTest, ARequestOnAClosedSupervisorIsToldToo) {
    std::optional<Hold> hold;
    {
        Supervisor supervisor = make();
        hold.emplace(std::move(*supervisor.hold(helper())));
    }
    std::promise<Errc> told;
    ASSERT_TRUE(
        hold->start("echo", nothing, {}, [&](Result<Reply> reply) { told.set_value(reply.error().code); }));
    auto outcome = told.get_future();
    ASSERT_EQ(outcome.wait_for(patient(20s)), std::future_status::ready);
    EXPECT_EQ(outcome.get(), Errc::closed);
}

TEST_F(SupervisorTest, ASlowSubscriberHoldsUpNoOtherHoldAndKeepsItsOrder) {
    Supervisor supervisor = make();
    auto slow = supervisor.hold(helper());
    auto quick = supervisor.hold(helper());
    HelperSpec other_key = helper();
    other_key.key = "other";
    auto elsewhere = supervisor.hold(other_key);
    const Door door;
    std::mutex mutex;
    std::vector<std::string> seen;
    std::promise<void> heard;
    std::promise<void> heard_elsewhere;
    std::atomic<bool> last = false;
    auto one = slow->subscribe("note", [&, door](std::string_view, std::string_view params) {
        door.pass();
        const std::scoped_lock lock(mutex);
        seen.emplace_back(params);
        last = seen.size() == 3;
    });
    auto two = quick->subscribe("note", [&](std::string_view, std::string_view params) {
        if (params == R"({"i":2})")
            heard.set_value();
    });
    auto three = elsewhere->subscribe("note", [&](auto, auto) { heard_elsewhere.set_value(); });
    ASSERT_TRUE(slow->request("notify", R"({"count":3})").has_value());
    EXPECT_EQ(heard.get_future().wait_for(patient(20s)), std::future_status::ready);
    ASSERT_TRUE(elsewhere->request("notify", R"({"count":1})").has_value());
    EXPECT_EQ(heard_elsewhere.get_future().wait_for(patient(20s)), std::future_status::ready);
    EXPECT_EQ(door.waiting(), 1) << "one of a hold at a time";
    door.open();
    ASSERT_TRUE(harness::eventually(Deadline::in(20s), [&] { return last.load(); }));
    EXPECT_EQ(seen, (std::vector<std::string>{R"({"i":0})", R"({"i":1})", R"({"i":2})"}));
}

TEST_F(SupervisorTest, SlowHandlersOfOneHelperHoldUpNoOther) {
    Supervisor supervisor = make();
    auto slow = supervisor.hold(helper());
    HelperSpec other_key = helper();
    other_key.key = "other";
    auto elsewhere = supervisor.hold(other_key);
    const Door door;
    auto one = slow->serve("x", [door](IncomingRequest request) {
        door.pass();
        EXPECT_TRUE(request.reply("1"));
    });
    auto two = elsewhere->serve("x", [&](IncomingRequest request) { EXPECT_TRUE(request.reply("2")); });
    std::vector<PendingCall> calls;
    for (int i = 0; i < 40; ++i)
        calls.push_back(std::move(*slow->start("ask", R"({"what":"x"})", {.timeout = patient(60s)})));
    ASSERT_TRUE(harness::eventually(Deadline::in(20s), [&] { return door.waiting() == 16; }))
        << door.waiting() << ": the bound that the header states";
    EXPECT_EQ(text_of(elsewhere->request("ask", R"({"what":"x"})")), R"({"answer":2})");
    EXPECT_EQ(text_of(slow->request("echo", "[1]")), "[1]");
    door.open();
    for (PendingCall& call : calls)
        EXPECT_EQ(text_of(call.wait(patient(30s))), R"({"answer":1})");
}

TEST_F(SupervisorTest, ACrowdOfQuickCallbacksNeedsFewThreads) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::atomic<int> told = 0;
    constexpr int count = 20'000;
    for (int i = 0; i < count; ++i)
        ASSERT_TRUE(hold->start("echo", nothing, {.timeout = patient(120s)}, [&](Result<Reply> reply) {
            EXPECT_TRUE(reply.has_value());
            {
                const std::scoped_lock lock(mutex);
                threads.insert(std::this_thread::get_id());
            }
            ++told;
        }));
    ASSERT_TRUE(harness::eventually(Deadline::in(60s), [&] { return told == count; })) << told;
    EXPECT_LT(threads.size(), 32U) << "one does it; more only where the machine let that one wait";
}

} // namespace holdfast::supervise_test
