#include "sys/sched_times.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>

namespace holdfast::sys {
namespace {

TEST(SchedTimes, SumsWhatEachThreadRanAndWaited) {
    SchedTimes times;
    add_schedstat("1000 20 3\n", times);
    add_schedstat("500 4 1\n", times);
    EXPECT_EQ(times.ran_ns, 1500U);
    EXPECT_EQ(times.waited_ns, 24U);
}

TEST(SchedTimes, TornTextCountsForNothing) {
    for (const char* text : {"", "\n", "12", "12 ", "x y z", "-1 2 3"}) {
        SchedTimes times;
        add_schedstat(text, times);
        EXPECT_EQ(times.ran_ns + times.waited_ns, 0U) << text;
    }
}

TEST(SchedTimes, ReadsWhenAThreadBeganItsLastTurn) {
    EXPECT_EQ(
        last_turn_ms("head (6834, #threads: 1)\n----\nse.exec_start            :       1533870.901747\n"),
        1533870U);
    EXPECT_FALSE(last_turn_ms("se.vruntime : 12.3\n"));
    EXPECT_FALSE(last_turn_ms("se.exec_start"));
    EXPECT_FALSE(last_turn_ms(""));
}

TEST(SchedTimes, SeesThatThisProcessIsNotIdle) {
    const auto idle = read_idle_ms(::getpid());
    if (!idle)
        GTEST_SKIP() << "this kernel keeps no /proc/PID/sched";
    EXPECT_LT(*idle, 60'000U);
}

TEST(SchedTimes, SeesThisProcessRun) {
    const auto before = read_sched_times(::getpid());
    ASSERT_TRUE(before);
    EXPECT_TRUE(before->runnable);
    if (before->ran_ns == 0)
        GTEST_SKIP() << "this kernel keeps no such books";
    const auto began = std::chrono::steady_clock::now();
    while (read_sched_times(::getpid())->ran_ns == before->ran_ns)
        ASSERT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

} // namespace
} // namespace holdfast::sys
