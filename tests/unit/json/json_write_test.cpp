// The writer: numbers, strings, styles. Boost.JSON is the second opinion.
#include "json/json_write.hpp"

#include "json/json_string.hpp"

#include "base/utf8.hpp"
#include "json/json_parse.hpp"
#include "json/json_scan.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace holdfast::json {
namespace {

std::string all_bytes() {
    std::string bytes;
    for (int c = 0; c < 256; ++c)
        bytes += static_cast<char>(c);
    return bytes;
}

TEST(JsonWrite, numbers_are_written_as_by_hand) {
    EXPECT_EQ(to_text(json::array{0.0, 0.5, -1.0, 0.0998, 3, -7, std::uint64_t{18446744073709551615U}}),
              "[0.0,0.5,-1.0,0.0998,3,-7,18446744073709551615]");
    for (const double none :
         {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()})
        for (const auto fractions : {Fractions::plain, Fractions::stored})
            EXPECT_EQ(to_text(none, {.fractions = fractions}), "null");
    for (const double number : {1e300, 1e-300, 0.1 + 0.2, 1.7e12, 123456789.125}) {
        const auto again = boost::json::parse(to_text(number));
        ASSERT_TRUE(again.is_double()) << to_text(number);
        EXPECT_EQ(again.get_double(), number);
    }
}

// Stores hold fingerprints of texts with numbers in this form, which was Boost's.
TEST(JsonWrite, stored_fractions_are_written_as_ever) {
    EXPECT_EQ(to_text(json::array{0.5, 1.0, -0.0, 1.7e12, 0.0, 1e-7, 12345.678, 1e100, -2.5e-300},
                      {.fractions = Fractions::stored}),
              "[5E-1,1E0,-0E0,1.7E12,0E0,1E-7,1.2345678E4,1E100,-2.5E-300]");
    std::mt19937_64 random(5);
    for (int i = 0; i < 200'000; ++i) {
        const auto number =
            i % 2 == 0 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 1'000'000) / 1000;
        if (std::isfinite(number)) {
            ASSERT_EQ(to_text(number, {.fractions = Fractions::stored}),
                      boost::json::serialize(json::value(number)));
        }
    }
}

// Control: everything but fractions is what Boost writes.
TEST(JsonWrite, all_else_is_as_boost_has_it) {
    const json::value value{{"empty", json::object()},
                            {"list", {json::array(), nullptr, true, false, "", "a\"b\\c/é漢"}},
                            {"bytes", all_bytes()},
                            {"a\nkey", {{"deep", {1, {{"er", 2}}}}}}};
    EXPECT_EQ(to_text(value), boost::json::serialize(value));
}

TEST(JsonWrite, strings_keep_their_bytes_or_become_utf8) {
    std::string ascii = all_bytes().substr(0, 0x80);
    ascii += "\xC3\xA9\xF0\x9F\x98\x80";
    EXPECT_TRUE(is_json(quote(ascii)));
    EXPECT_EQ(unquote(quote(ascii)), ascii);
    EXPECT_EQ(boost::json::parse(quote(ascii)).as_string(), ascii);
    EXPECT_EQ(quote("a\xFF"), "\"a\xEF\xBF\xBD\"");
    EXPECT_EQ(quote("\xC3\"\xA9"), "\"\xEF\xBF\xBD\\\"\xEF\xBF\xBD\""); // two halves, an escape between them
    const json::value value{{"caf\xe9", {"\xff\n", all_bytes()}}};
    const auto kept = to_text(value);
    EXPECT_FALSE(base::is_utf8(kept));
    EXPECT_EQ(*parse(kept, {.strings = Strings::any_bytes}), value);
    const auto mended = to_text(value, {.bytes = Bytes::as_utf8});
    EXPECT_TRUE(base::is_utf8(mended));
    EXPECT_EQ(mended, base::as_utf8(kept));
    EXPECT_TRUE(parse(mended));
}

TEST(JsonWrite, sorted_members_make_one_text_of_what_means_the_same) {
    constexpr Style sorted{.members = Members::sorted};
    EXPECT_EQ(to_text(*parse(R"({"b":1,"a":{"d":[{"y":1,"x":2}],"c":3},"":0})"), sorted),
              R"({"":0,"a":{"c":3,"d":[{"x":2,"y":1}]},"b":1})");
    EXPECT_EQ(to_text(*parse(R"({"a":1,"B":2})"), sorted), to_text(*parse(R"({"B":2,"a":1})"), sorted));
    EXPECT_NE(to_text(*parse(R"({"a":1,"B":2})")), to_text(*parse(R"({"B":2,"a":1})")));
    EXPECT_NE(to_text(*parse("[1,2]"), sorted), to_text(*parse("[2,1]"), sorted)); // a list has an order
}

TEST(JsonWrite, the_writer_of_records_makes_what_the_parser_reads) {
    Writer out;
    out.open();
    out.field("text", "a\"b\n\x01");
    out.field("flag", true);
    out.field("least", std::numeric_limits<std::int64_t>::min());
    out.field("most", std::numeric_limits<std::uint64_t>::max());
    out.field("none", std::vector<std::string>());
    out.field("words", std::vector<std::string>{"", "{", "caf\xe9"});
    out.field("numbers", std::vector<int>{1, -2});
    out.open("inner");
    out.close();
    out.open("other");
    out.field("x", 1);
    out.close();
    out.close();
    const auto text = std::move(out).take();
    EXPECT_EQ(
        text,
        "{\"text\":\"a\\\"b\\n\\u0001\",\"flag\":true,\"least\":-9223372036854775808,"
        "\"most\":18446744073709551615,\"none\":[],\"words\":[\"\",\"{\",\"caf\xe9\"],\"numbers\":[1,-2],"
        "\"inner\":{},\"other\":{\"x\":1}}");
    EXPECT_TRUE(parse_object(text));
}

} // namespace
} // namespace holdfast::json
