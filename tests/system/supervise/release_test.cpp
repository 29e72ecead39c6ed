// A hold is released, a registration cancelled, a request answered, while other threads use the same object:
// all of it may happen at any moment, and whoever waits is told.
#include "supervise/fixture.hpp"

#include <atomic>
#include <barrier>
#include <functional>
#include <future>
#include <thread>

namespace holdfast::supervise_test {

namespace {

// Under a sanitizer each round takes several times as long, and shows more.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int rounds = 150;
#else
constexpr int rounds = 500;
#endif

bool is_closed_or_fine(const auto& result) {
    return result.has_value() || result.error().code == Errc::closed ||
           result.error().code == Errc::timed_out || result.error().code == Errc::superseded;
}

} // namespace

TEST_F(SupervisorTest, AHoldMayBeReleasedBesideEveryUseOfIt) {
    Supervisor supervisor = make();
    auto kept = supervisor.hold(helper());
    ASSERT_TRUE(kept->wait_ready().has_value());
    std::atomic<int> wrong = 0;
    const RequestOptions soon{.timeout = patient(10s)};
    const std::vector<std::function<void(Hold&)>> uses = {
        [&](Hold& hold) { static_cast<void>(hold.status()); },
        [&](Hold& hold) { wrong += !is_closed_or_fine(hold.wait_ready(0ms)); },
        [&](Hold& hold) { wrong += !is_closed_or_fine(hold.request("echo", "[1]", soon)); },
        [&](Hold& hold) {
            auto call = hold.start("echo", "[1]", soon);
            wrong += !is_closed_or_fine(call);
            if (call)
                wrong += !is_closed_or_fine(call->wait());
        },
        [&](Hold& hold) {
            auto call = hold.start_and_wait("echo", "[1]", soon, 10s);
            wrong += !is_closed_or_fine(call);
        },
        [&](Hold& hold) { wrong += !is_closed_or_fine(hold.start("echo", "[1]", soon, [](auto) {})); },
        [&](Hold& hold) { wrong += !is_closed_or_fine(hold.notify("nothing")); },
        [&](Hold& hold) { wrong += !is_closed_or_fine(hold.subscribe("note", [](auto, auto) {})); },
        [&](Hold& hold) { wrong += !is_closed_or_fine(hold.serve("x", [](auto) {})); },
        [&](Hold& hold) {
            Session session = hold.session([](Session&) -> Result<void> { return {}; });
            wrong += !is_closed_or_fine(session.request("echo", "[1]", soon));
            static_cast<void>(session.open_on());
        },
        [&](Hold& hold) { wrong += !is_closed_or_fine(hold.replace(0, 10s)); },
        [&](Hold& hold) { wrong += !is_closed_or_fine(hold.retry()); },
        [&](Hold& hold) { hold.release(); },
    };
    std::optional<Hold> hold;
    std::barrier start(static_cast<std::ptrdiff_t>(uses.size()) + 1);
    std::barrier end(static_cast<std::ptrdiff_t>(uses.size()) + 1);
    std::vector<std::thread> threads;
    for (const auto& use : uses)
        threads.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                start.arrive_and_wait();
                use(*hold);
                end.arrive_and_wait();
            }
        });
    for (int round = 0; round < rounds; ++round) {
        hold.emplace(std::move(*supervisor.hold(helper())));
        start.arrive_and_wait();
        hold->release();
        end.arrive_and_wait();
        EXPECT_EQ(hold->status().state, HelperState::closed);
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(kept->status().holds, 1U);
    EXPECT_EQ(kept->status().starts, 1U);
}

TEST_F(SupervisorTest, ARegistrationMayBeCancelledAndARequestAnsweredByManyAtOnce) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    for (int round = 0; round < rounds / 10; ++round) {
        std::promise<void> over;
        std::atomic<int> answered = 0;
        auto served = hold->serve("x", [&](IncomingRequest request) {
            std::vector<std::thread> threads;
            for (int i = 0; i < 4; ++i)
                threads.emplace_back([&] { answered += request.reply(R"("ok")").has_value(); });
            for (std::thread& thread : threads)
                thread.join();
            over.set_value();
        });
        EXPECT_EQ(text_of(hold->request("ask", R"({"what":"x"})")), R"({"answer":"ok"})");
        over.get_future().wait();
        EXPECT_EQ(answered, 1);
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] { served->cancel(); });
        for (std::thread& thread : threads)
            thread.join();
    }
    EXPECT_NE(text_of(hold->request("ask", R"({"what":"x"})")).find("nobody here serves"), std::string::npos);
}

TEST_F(SupervisorTest, WhoeverWaitsOnAHoldIsToldThatItWasReleased) {
    Supervisor supervisor = make();
    const HelperSpec spec = healthy({"--start-until=" + home.dir().file("never")});
    auto other = supervisor.hold(spec); // so that it is not the last that goes
    auto hold = supervisor.hold(spec);
    auto ready = std::async(std::launch::async, [&] { return hold->wait_ready({}); });
    auto reply = std::async(std::launch::async,
                            [&] { return hold->request("echo", "[]", {.timeout = std::nullopt}); });
    auto session = hold->session({});
    auto in_session = std::async(std::launch::async,
                                 [&] { return session.request("echo", "[]", {.timeout = std::nullopt}); });
    auto kept = other->start("echo", "[1]", {.timeout = std::nullopt});
    ASSERT_TRUE(harness::eventually(Deadline::in(10s), [&] { return hold->status().waiting == 2; }));
    hold->release();
    ASSERT_EQ(ready.wait_for(patient(20s)), std::future_status::ready);
    EXPECT_EQ(ready.get().error().code, Errc::closed);
    ASSERT_EQ(reply.wait_for(patient(20s)), std::future_status::ready);
    EXPECT_EQ(text_of(reply.get()), "closed: this hold was released before the request was sent");
    ASSERT_EQ(in_session.wait_for(patient(20s)), std::future_status::ready);
    EXPECT_EQ(in_session.get().error().code, Errc::closed);
    EXPECT_EQ(other->status().waiting, 1U) << "the others wait on";
    kept->cancel();
}

} // namespace holdfast::supervise_test
