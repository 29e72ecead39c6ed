#include "base/printable.hpp"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

TEST(PrintableUtf8, LeavesTextAlone) {
    EXPECT_EQ(printable("a) b (ç → 語 😀"), "a) b (ç → 語 😀");
}

TEST(PrintableUtf8, TakesTheTerminalOutOfReach) {
    EXPECT_EQ(printable("\x1b[2Jx\n\x7f"), "?[2Jx??");
    EXPECT_EQ(printable("\xc2\x9b"), "?"); // the one-character form of ESC [
}

TEST(PrintableUtf8, ReplacesWhatIsNotUtf8) {
    EXPECT_EQ(printable("\xff\xfe"), "??");
    EXPECT_EQ(printable("\xc3"), "?");                // cut off
    EXPECT_EQ(printable("\xc0\xaf"), "??");           // longer than needed
    EXPECT_EQ(printable("\xed\xa0\x80"), "???");      // half of a pair
    EXPECT_EQ(printable("\xf5\x80\x80\x80"), "????"); // beyond the last
}

} // namespace
} // namespace holdfast::base
