// Back-pressure both ways: whoever does not read costs bounded memory, and never makes the other side wait
// for ever.
#include "supervise/fixture.hpp"

#include "base/text.hpp"
#include "sys/fd.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace holdfast::supervise_test {

namespace {

// While it lives, this process can open nothing.
class NoDescriptors {
public:
    NoDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit low = before_;
        low.rlim_cur = 256;
        ::setrlimit(RLIMIT_NOFILE, &low);
        for (;;) {
            sys::Fd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
            if (!one)
                break;
            taken_.push_back(std::move(one));
        }
    }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;
    ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
    std::vector<sys::Fd> taken_;
};

} // namespace

// The helper is there, and only could not be looked at just then.
TEST_F(SupervisorTest, AMomentWithoutDescriptorsDoesNotLoseTheHelper) {
    // A keeper that starts when it is told.
    const std::string gate = home.dir().file("gate");
    const std::string keeper = home.dir().file("slow-keep");
    ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
    ASSERT_TRUE(harness::write_file(keeper, base::cat("#!/bin/sh\nread word <'", gate, "'\nexec '",
                                                      harness::program("holdfast-keep"), "' \"$@\"\n")));
    ASSERT_EQ(::chmod(keeper.c_str(), 0700), 0);
    const sys::Fd bell(::open(gate.c_str(), O_RDWR | O_CLOEXEC));
    auto supervisor = Supervisor::create({.keeper_program = keeper});
    ASSERT_TRUE(supervisor.has_value()) << supervisor.error().message;
    auto hold = supervisor->hold(helper());
    ASSERT_TRUE(hold.has_value());
    ASSERT_TRUE(harness::eventually(Deadline::in(20s), [&] { return hold->status().starts == 1; }));
    {
        const NoDescriptors pressure;
        ASSERT_EQ(::write(bell.get(), "\n", 1), 1);
        ASSERT_TRUE(harness::eventually(Deadline::in(30s),
                                        [&] { return hold->status().state != HelperState::starting; }));
        EXPECT_EQ(hold->status().state, HelperState::ready) << "unknown is not gone";
    }
    const auto reply = hold->request("pid", "", {.timeout = patient(10s)});
    EXPECT_EQ(reply ? reply->generation : 0, 1U) << text_of(reply);
    EXPECT_EQ(hold->status().pid, number(reply));
    // Seen by now: its end is noticed as ever.
    kill_by_pid(number(reply));
    ASSERT_EQ(::write(bell.get(), "\n", 1), 1);
    EXPECT_EQ(hold->request("pid", "", {.timeout = patient(30s)})->generation, 2U);
}

// It writes megabytes before it reads the next request, and so do we: each side's pipe is full while the
// other is busy writing. A side that wrote without reading would stop here for ever.
TEST_F(SupervisorTest, BothSidesWritingAtOnceIsNoDeadlock) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    std::atomic<std::uint64_t> notes = 0;
    auto kept = hold->subscribe("note", [&](auto, auto) { ++notes; });
    const std::string params = base::cat("[\"", std::string(1'000'000, 'x'), "\"]");
    std::vector<PendingCall> calls;
    auto flood = hold->start("notify", R"({"count":50000})", {.timeout = patient(60s)});
    ASSERT_TRUE(flood.has_value());
    for (int i = 0; i < 20; ++i) {
        auto call = hold->start("echo", params, {.timeout = patient(60s)});
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
        auto call = hold->start("ask", R"({"what":"slow"})", {.timeout = patient(60s)});
        ASSERT_TRUE(call.has_value());
        calls.push_back(std::move(*call));
    }
    EXPECT_EQ(text_of(hold->request("echo", "[1]")), "[1]") << "nobody waits for them";
    EXPECT_TRUE(harness::eventually(Deadline::in(20s), [&] {
        const std::scoped_lock lock(mutex);
        return held.size() == 64;
    }));
    for (std::size_t i = 64; i < 100; ++i)
        EXPECT_NE(text_of(calls[i].wait(patient(20s))).find("overflow"), std::string::npos);
    {
        const std::scoped_lock lock(mutex);
        for (IncomingRequest& request : held)
            EXPECT_TRUE(request.reply("\"at last\"").has_value());
        held.clear();
    }
    for (std::size_t i = 0; i < 64; ++i)
        EXPECT_EQ(text_of(calls[i].wait(patient(20s))), R"({"answer":"at last"})");
}

// It asks and never reads what it is told.
TEST_F(SupervisorTest, AnswersThatNobodyReadsAreBounded) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold->wait_ready().has_value());
    const std::string answer = base::cat('"', std::string(200'000, 'y'), '"');
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
