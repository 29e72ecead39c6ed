#include "base/printable.hpp"
#include "base/progress_line.hpp"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

TEST(ProgressLine, a_wide_terminal_has_everything) {
    EXPECT_EQ(progress_line("importing", 3, 10, "3 lines", 80),
              "importing  [#########---------------------]  30 %  3 lines");
    EXPECT_EQ(progress_line("importing", 10, 10, "", 80),
              "importing  [##############################]  100 %");
    EXPECT_EQ(progress_line("importing", 7, 0, "7 lines", 80), "importing  7 lines")
        << "the total is not known";
}

TEST(ProgressLine, it_is_never_wider_than_the_terminal_and_says_as_much_as_fits) {
    for (std::size_t columns = 0; columns < 100; ++columns)
        for (const std::uint64_t total : {0U, 10U}) {
            const auto line = progress_line("importing", 3, total, "3 lines — of many", columns);
            EXPECT_LE(shown_width(line), columns > 1 ? columns - 1 : 1U) << columns << ": " << line;
            EXPECT_EQ(printable(line), line) << "no half characters";
        }
    EXPECT_EQ(progress_line("importing", 3, 10, "3 lines", 33), "importing  [###-------]  30 %  3");
    EXPECT_EQ(progress_line("importing", 3, 10, "3 lines", 24), "importing  30 %  3 line")
        << "no room for a bar";
    EXPECT_EQ(progress_line("importing", 3, 10, "3 lines", 14), "importing  30");
}

TEST(ProgressLine, large_numbers_and_more_than_all) {
    constexpr std::uint64_t large = ~std::uint64_t{0};
    EXPECT_EQ(progress_line("x", large / 2, large, "", 22), "x  [#####-----]  50 %");
    EXPECT_EQ(progress_line("x", 12, 10, "", 23), "x  [##########]  100 %");
}

} // namespace
} // namespace holdfast::base
