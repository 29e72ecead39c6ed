#include "sys/clock.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cstdint>

namespace holdfast::sys {
namespace {

using std::chrono::milliseconds;

TEST(Deadline, NeverIsNever) {
    Deadline never = Deadline::never();
    EXPECT_FALSE(never.passed());
    EXPECT_EQ(never.poll_timeout(), -1);
    EXPECT_FALSE(never.moment());
}

TEST(Deadline, ThePastHasPassed) {
    for (Deadline past : {Deadline::at(0), Deadline::at(-5), Deadline::in(milliseconds{0}),
                          Deadline::in(milliseconds{-1000})}) {
        EXPECT_TRUE(past.passed());
        EXPECT_EQ(past.poll_timeout(), 0);
    }
}

TEST(Deadline, APollIsNeverShorterThanWhatIsLeft) {
    Deadline soon = Deadline::in(milliseconds{500});
    EXPECT_FALSE(soon.passed());
    std::int64_t before = boottime_ms();
    int timeout = soon.poll_timeout();
    EXPECT_GE(timeout, *soon.moment() - before - 1);
    EXPECT_LE(timeout, 500);
}

TEST(Deadline, TheEarlierOfTwo) {
    Deadline early = Deadline::at(10), late = Deadline::at(20), never;
    EXPECT_EQ(early.earlier(late).moment(), 10);
    EXPECT_EQ(late.earlier(early).moment(), 10);
    EXPECT_EQ(never.earlier(late).moment(), 20);
    EXPECT_EQ(late.earlier(never).moment(), 20);
    EXPECT_FALSE(never.earlier(never).moment());
}

// "As long as can be" is a natural thing to ask for, and must not wrap around into the past.
TEST(Deadline, TheLongestDurationIsFarAhead) {
    Deadline far = Deadline::in(milliseconds::max());
    EXPECT_FALSE(far.passed());
    EXPECT_EQ(far.poll_timeout(), INT_MAX);
    EXPECT_EQ(Deadline::at(INT64_MAX).poll_timeout(), INT_MAX);
    EXPECT_EQ(Deadline::at(INT64_MIN).poll_timeout(), 0);
    EXPECT_TRUE(Deadline::in(milliseconds::min()).passed());
    EXPECT_EQ(Deadline::in(milliseconds::min()).poll_timeout(), 0);
}

TEST(Clock, BootTimeGrows) {
    std::int64_t first = boottime_ns();
    std::int64_t second = boottime_ns();
    EXPECT_GE(second, first);
    EXPECT_GT(first, 0);
}

} // namespace
} // namespace holdfast::sys
