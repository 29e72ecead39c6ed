#include "json/json_exact.hpp"

#include "json/json_text.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <random>

namespace holdfast::json {
namespace {

namespace json = holdfast::json;

json::value parsed(std::string_view text) {
    boost::system::error_code failed;
    auto value = parse_exact(text, failed);
    EXPECT_FALSE(failed) << text;
    return value;
}

TEST(JsonExact, every_number_is_the_one_that_was_written) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> near(-1, 1);
    int off_by_boost = 0;
    for (int i = 0; i < 20'000; ++i) {
        const double number = near(random) * (i % 2 == 0 ? 1 : 1e12);
        char digits[40];
        const std::string text(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
        EXPECT_EQ(parsed("[" + text + "]").as_array()[0].to_number<double>(), number) << text;
        off_by_boost += json::parse("[" + text + "]").as_array()[0].to_number<double>() != number ? 1 : 0;
    }
    EXPECT_GT(off_by_boost, 0); // or it could be asked directly again
}

TEST(JsonExact, everything_else_is_as_ever) {
    const char* const text =
        R"({"a":[1,-2,18446744073709551615,1e3,0.1,true,false,null],"b\n":{"c":"\u00e9\ud83d\ude00 d","":[]}})";
    EXPECT_EQ(parsed(text), json::parse(text));
    EXPECT_EQ(parsed("1e400").to_number<double>(), json::parse("1e400").to_number<double>());
    EXPECT_EQ(parsed(std::string(100'000, ' ') + "7"), json::value(7));
    for (const char* wrong : {"", "[", "{\"a\":}", "1 2", "nul", "[1,]", "\"\\ud800\"", "\x01"}) {
        boost::system::error_code ours, theirs;
        EXPECT_TRUE(parse_exact(wrong, ours).is_null());
        static_cast<void>(json::parse(wrong, theirs));
        EXPECT_EQ(ours, theirs) << wrong;
    }
    boost::system::error_code failed;
    static_cast<void>(parse_exact(std::string(201, '[') + std::string(201, ']'), failed));
    EXPECT_EQ(failed, make_error_code(json::error::too_deep));
}

} // namespace
} // namespace holdfast::json
