// A wait for what must come is stretched; one for what must not come is not.
#include "harness/deadline.hpp"

#include <gtest/gtest.h>

#include <climits>

namespace holdfast::harness {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, WaitsForWhatMustComeLastTenTimesWhatIsAmple) {
    EXPECT_GE(test::stretch, 10);
    const auto before = Deadline::Clock::now();
    EXPECT_GE(Deadline::in(20s).at() - before, 200s);
    EXPECT_GE(test::patient(5s), 50s);
}

TEST(Deadline, WaitsForWhatMustNotComeAreAsLongAsTheySay) {
    const auto deadline = Deadline::exactly(20s);
    EXPECT_LE(deadline.at(), Deadline::Clock::now() + 20s);
    EXPECT_LE(deadline.remaining_ms(), 20'000);
    EXPECT_TRUE(Deadline::exactly(0s).passed());
}

TEST(Deadline, ALongOneIsNotCutShortForPoll) {
    EXPECT_GT(Deadline::exactly(1h).remaining_ms(), 3'500'000);
    EXPECT_EQ(Deadline::exactly(24h * 365).remaining_ms(), INT_MAX);
}

} // namespace
} // namespace holdfast::harness
