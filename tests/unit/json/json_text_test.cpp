#include "json/json_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace holdfast::json {
namespace {

namespace json = holdfast::json;

TEST(JsonText, numbers_are_written_as_by_hand) {
    EXPECT_EQ(json_text(json::array{0.0, 0.5, -1.0, 0.0998, 3, -7, std::uint64_t{18446744073709551615U}}),
              "[0.0,0.5,-1.0,0.0998,3,-7,18446744073709551615]");
    EXPECT_EQ(json_text(std::numeric_limits<double>::infinity()), "null");
    for (const double number : {1e300, 1e-300, 0.1 + 0.2, 1.7e12, 123456789.125}) {
        const auto again = json::parse(json_text(number));
        ASSERT_TRUE(again.is_double()) << json_text(number);
        EXPECT_EQ(again.get_double(), number);
    }
}

// Control: everything but fractions is what Boost writes.
TEST(JsonText, all_else_is_as_ever) {
    std::string bytes;
    for (int c = 0; c < 256; ++c)
        bytes += static_cast<char>(c);
    const json::value value{{"empty", json::object()},
                            {"list", {json::array(), nullptr, true, false, "", "a\"b\\c/é漢"}},
                            {"bytes", bytes},
                            {"a\nkey", {{"deep", {1, {{"er", 2}}}}}}};
    EXPECT_EQ(json_text(value), json::serialize(value));
}

} // namespace
} // namespace holdfast::json
