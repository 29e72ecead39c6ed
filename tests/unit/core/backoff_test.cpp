// Backoff: how long, how often, and when to stop.
#include "core/backoff.hpp"

#include <gtest/gtest.h>

using namespace holdfast::core;
using namespace holdfast::base;
using namespace std::chrono_literals;

namespace {

BackoffPolicy plain() {
    BackoffPolicy policy;
    policy.jitter = 0;
    return policy;
}

TEST(Backoff, FirstCrashIsAnsweredAtOnceAndFurtherOnesGrowGeometrically) {
    const BackoffPolicy policy = plain();
    EXPECT_EQ(Backoff::wait_after(policy, 1, 0.5), 0ns);
    EXPECT_EQ(Backoff::wait_after(policy, 2, 0.5), 100ms);
    EXPECT_EQ(Backoff::wait_after(policy, 3, 0.5), 200ms);
    EXPECT_EQ(Backoff::wait_after(policy, 6, 0.5), 1600ms);
    EXPECT_EQ(Backoff::wait_after(policy, 11, 0.5), 30s);
    EXPECT_EQ(Backoff::wait_after(policy, 4'000'000'000U, 0.5), 30s);
}

TEST(Backoff, JitterSpreadsAroundTheWaitAndStaysInsideItsFraction) {
    BackoffPolicy policy = plain();
    policy.jitter = 0.2;
    EXPECT_EQ(Backoff::wait_after(policy, 2, 0.0), 80ms);
    EXPECT_EQ(Backoff::wait_after(policy, 2, 0.5), 100ms);
    EXPECT_EQ(Backoff::wait_after(policy, 2, 1.0), 120ms);
    EXPECT_EQ(Backoff::wait_after(policy, 2, 99.0), 120ms); // bad dice do no harm
    EXPECT_EQ(Backoff::wait_after(policy, 2, -1.0), 80ms);
}

TEST(Backoff, AFactorOfOneIsAConstantPace) {
    BackoffPolicy policy = plain();
    policy.factor = 1;
    EXPECT_EQ(Backoff::wait_after(policy, 2, 0.5), 100ms);
    EXPECT_EQ(Backoff::wait_after(policy, 4'000'000'000U, 0.5), 100ms);
}

TEST(Backoff, GivesUpAfterFailuresInARowHoweverSlow) {
    BackoffPolicy policy = plain();
    policy.max_failures = 3;
    Backoff backoff;
    EXPECT_FALSE(backoff.record(policy, 0h, 0.5).give_up);
    EXPECT_FALSE(backoff.record(policy, 1h, 0.5).give_up);
    EXPECT_TRUE(backoff.record(policy, 2h, 0.5).give_up);
}

TEST(Backoff, AGoodRunStartsTheRowOver) {
    BackoffPolicy policy = plain();
    policy.max_failures = 3;
    Backoff backoff;
    for (int hour = 0; hour < 100; ++hour) {
        const auto verdict = backoff.record(policy, std::chrono::hours(hour), 0.5);
        EXPECT_FALSE(verdict.give_up);
        EXPECT_EQ(verdict.in_a_row, 1U);
        EXPECT_EQ(verdict.not_before, std::chrono::hours(hour));
        backoff.run_was_good();
    }
}

TEST(Backoff, GivesUpWhenTheWindowFillsEvenWithGoodRunsBetween) {
    BackoffPolicy policy = plain();
    policy.max_failures = 4;
    policy.window = 60s;
    Backoff backoff;
    const auto fails_at = [&](std::chrono::seconds at) {
        const bool gave_up = backoff.record(policy, at, 0.5).give_up;
        backoff.run_was_good();
        return gave_up;
    };
    EXPECT_FALSE(fails_at(0s));
    EXPECT_FALSE(fails_at(15s));
    EXPECT_FALSE(fails_at(30s));
    EXPECT_FALSE(fails_at(61s)); // the first one is out of the window
    EXPECT_TRUE(fails_at(62s));
}

TEST(Backoff, ZeroMeansItNeverGivesUp) {
    BackoffPolicy policy = plain();
    policy.max_failures = 0;
    Backoff backoff;
    for (int i = 0; i < 1000; ++i)
        EXPECT_FALSE(backoff.record(policy, std::chrono::milliseconds(i), 0.5).give_up);
}

TEST(Backoff, JudgingDoesNotCount) {
    BackoffPolicy policy = plain();
    policy.max_failures = 2;
    Backoff backoff;
    for (int i = 0; i < 5; ++i)
        EXPECT_FALSE(backoff.judge(policy, 1s, 0.5).give_up);
    backoff.record(policy, 1s, 0.5);
    EXPECT_TRUE(backoff.judge(policy, 1s, 0.5).give_up);
    backoff.forget();
    EXPECT_FALSE(backoff.judge(policy, 1s, 0.5).give_up);
}

TEST(Backoff, PoliciesThatCannotBeMeantAreRefused) {
    EXPECT_TRUE(check(BackoffPolicy{}).has_value());
    const auto refused = [](auto change) {
        BackoffPolicy policy;
        change(policy);
        const auto result = check(policy);
        return !result && result.error().code == holdfast::Errc::invalid_argument;
    };
    EXPECT_TRUE(refused([](BackoffPolicy& p) { p.initial = -1ms; }));
    EXPECT_TRUE(refused([](BackoffPolicy& p) { p.first = -1ms; }));
    EXPECT_TRUE(refused([](BackoffPolicy& p) { p.factor = 0.5; }));
    EXPECT_TRUE(refused([](BackoffPolicy& p) { p.factor = std::numeric_limits<double>::quiet_NaN(); }));
    EXPECT_TRUE(refused([](BackoffPolicy& p) { p.max = 1ms; }));
    EXPECT_TRUE(refused([](BackoffPolicy& p) { p.jitter = 1.5; }));
    EXPECT_TRUE(refused([](BackoffPolicy& p) { p.max_failures = 65; }));
}

TEST(Moments, ASumThatDoesNotFitNeverComes) {
    EXPECT_EQ(after(5s, 3s), 8s);
    EXPECT_EQ(after(5s, never), never);
    EXPECT_EQ(after(never - 1ns, 5ns), never);
}

} // namespace
