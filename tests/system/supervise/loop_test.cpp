// The loop's alarm: set once, it serves all who want to be woken later than that.
#include "supervise/loop.hpp"

#include "harness/eventually.hpp"
#include "harness/no_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>

namespace holdfast::supervise_test {

using namespace std::chrono_literals;
using harness::Deadline;
using supervise::Loop;
using supervise::now_moment;

namespace {

// A loop with nothing to do, which notes when it was awake.
struct IdleLoop {
    struct Awake {
        std::atomic<int> ticks = 0;
        std::atomic<base::Moment::rep> last = 0;
    };
    std::shared_ptr<Awake> awake = std::make_shared<Awake>();
    std::shared_ptr<Loop> loop = *Loop::start();
    std::unique_ptr<supervise::EventLoop::Timer> timer = loop->timer([awake = awake](base::Moment now) {
        awake->last = now.count();
        ++awake->ticks;
        return base::never;
    });
    // Asleep, and seen once: how often it wakes up to begin with is not the subject.
    IdleLoop() {
        loop->post([] {});
        EXPECT_TRUE(ticks_beyond(0, 10s));
        for (int seen = awake->ticks; ticks_beyond(seen, 30ms); seen = awake->ticks) {
        }
        awake->ticks = 1;
    }
    IdleLoop(const IdleLoop&) = delete;
    IdleLoop& operator=(const IdleLoop&) = delete;
    ~IdleLoop() { loop->stop(); }
    [[nodiscard]] bool ticks_beyond(int seen, std::chrono::milliseconds within) const {
        return harness::eventually(Deadline::in(within), [&] { return awake->ticks > seen; });
    }
    [[nodiscard]] bool ticks_after(base::Moment due) const {
        return harness::eventually(Deadline::in(10s), [&] { return awake->last >= due.count(); });
    }
};

} // namespace

// An answered request takes its deadline with it, so the loop may find nothing due when it looks. It keeps
// the alarm nevertheless: the next request would have to wake it otherwise, which on an idle machine can mean
// a second processor to start, and several times the time of the request itself.
TEST(Loop, WhoWantsToBeWokenLaterThanTheAlarmWakesNobodyNow) {
    const IdleLoop idle;
    ASSERT_TRUE(idle.ticks_beyond(0, 10s));
    idle.timer->by(base::after(now_moment(), 30s));
    ASSERT_TRUE(idle.ticks_beyond(1, 10s)); // it was asleep without an alarm
    for (int request = 0; request < 3; ++request) {
        idle.timer->by(base::after(now_moment(), 30s));
        EXPECT_FALSE(idle.ticks_beyond(2, 30ms));
    }
}

TEST(Loop, AnAlarmThatNobodyNeedsAnyMoreRingsOnce) {
    const IdleLoop idle;
    ASSERT_TRUE(idle.ticks_beyond(0, 10s));
    const base::Moment due = base::after(now_moment(), 20ms);
    idle.timer->by(due);
    ASSERT_TRUE(idle.ticks_after(due));
    EXPECT_FALSE(idle.ticks_beyond(idle.awake->ticks + 2, 100ms));
}

TEST(Loop, AnEarlierAlarmIsHeard) {
    const IdleLoop idle;
    ASSERT_TRUE(idle.ticks_beyond(0, 10s));
    idle.timer->by(base::after(now_moment(), 30s));
    const base::Moment due = base::after(now_moment(), 20ms);
    idle.timer->by(due);
    EXPECT_TRUE(idle.ticks_after(due));
}

TEST(Loop, WithoutAThreadItSaysSoAndTheCallerHearsItsSignals) {
    const int blocked = harness::blocked_signals();
    const harness::NoThreads none;
    const auto loop = Loop::start();
    ASSERT_FALSE(loop.has_value());
    EXPECT_EQ(loop.error().sys, EAGAIN);
    EXPECT_NE(loop.error().message.find("thread"), std::string::npos) << loop.error().message;
    EXPECT_EQ(harness::blocked_signals(), blocked);
}

} // namespace holdfast::supervise_test
