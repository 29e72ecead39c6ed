#include "sys/clock.hpp"

#include <gtest/gtest.h>

namespace holdfast::sys {
namespace {

TEST(Clock, TimePassesForAtLeastAsLongAsAsked) {
    for (const int ms : {0, 1, 20}) {
        const auto began = boottime_ns();
        pass_time(std::chrono::milliseconds(ms));
        EXPECT_GE(boottime_ns() - began, ms * 1'000'000LL);
    }
    pass_time(std::chrono::milliseconds(-1000)); // is over already
}

} // namespace
} // namespace holdfast::sys
