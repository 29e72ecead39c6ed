#include "base/date_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <limits>

namespace holdfast::base {
namespace {

TEST(DateText, AMomentIsTheSameInEveryZoneButForItsWords) {
    constexpr std::int64_t moment = 1794802329250;
    EXPECT_EQ(date_text(moment, Zone::utc), "2026-11-16 04:12 UTC");
    EXPECT_EQ(date_text(moment, Zone::utc, DatePrecision::milliseconds), "2026-11-16 04:12:09.250 UTC");
    EXPECT_EQ(date_text(0, Zone::utc, DatePrecision::milliseconds), "1970-01-01 00:00:00.000 UTC");
    ::setenv("TZ", "XXX-5:30", 1);
    ::tzset();
    EXPECT_EQ(date_text(moment, Zone::local), "2026-11-16 09:42");
    EXPECT_EQ(date_text(moment, Zone::local, DatePrecision::milliseconds), "2026-11-16 09:42:09.250");
    ::unsetenv("TZ");
    ::tzset();
}

// What stands in a file of events was written by anybody.
TEST(DateText, ANumberThatIsNoDateIsANumber) {
    EXPECT_EQ(date_text(-1, Zone::utc, DatePrecision::milliseconds), "1969-12-31 23:59:59.999 UTC");
    EXPECT_EQ(date_text(-1000, Zone::utc, DatePrecision::milliseconds), "1969-12-31 23:59:59.000 UTC");
    EXPECT_EQ(date_text(253402300799999, Zone::utc), "9999-12-31 23:59 UTC");
    EXPECT_EQ(date_text(253402300800000, Zone::utc), "253402300800000");
    EXPECT_EQ(date_text(-62167219200001, Zone::utc), "-62167219200001");
    for (const auto extreme :
         {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
        for (const auto zone : {Zone::utc, Zone::local})
            EXPECT_EQ(date_text(extreme, zone, DatePrecision::milliseconds), std::to_string(extreme));
}

} // namespace
} // namespace holdfast::base
