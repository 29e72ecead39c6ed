// The JSON scanner: what is well-formed, where values end, and strings. Boost.JSON is the second opinion.
#include "json/json_scan.hpp"

#include "json/json.hpp"
#include "json/json_string.hpp"
#include <gtest/gtest.h>

#include <random>

using namespace holdfast::json;

namespace {

bool boost_accepts(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = max_depth;
    boost::system::error_code error;
    static_cast<void>(boost::json::parse(text, error, {}, options));
    return !error;
}

TEST(JsonScan, TakesWhatIsJson) {
    for (const char* text :
         {"null", "true", "false", "0", "-0", "12", "-1.5e+10", "1E9", "0.1", "\"\"", "\"a b\"",
          "\"\\u00e9\\n\\/\"", "[]", "{}", " [ 1 , 2 ] ", "{\"a\":{\"b\":[{},[],\"x\"]},\"c\":null}",
          "\t\r\n{ \"a\" : 1 }\n", "[[[[[[]]]]]]", "\"\xC3\xA9\xF0\x9F\x98\x80\""}) {
        EXPECT_TRUE(is_json(text)) << text;
        EXPECT_TRUE(boost_accepts(text)) << text;
    }
}

TEST(JsonScan, RefusesWhatIsNot) {
    for (const char* text : {"",         " ",         "nul",         "nulll", "tru",      "01",
                             "-",        "+1",        "1.",          ".5",    "1e",       "1e+",
                             "\"",       "\"\\x\"",   "\"\\u12g4\"", "\"\\",  "\"a\nb\"", "[",
                             "]",        "[1,]",      "[,1]",        "[1 2]", "{",        "}",
                             "{\"a\"}",  "{\"a\":}",  "{\"a\":1,}",  "{a:1}", "{1:1}",    "{\"a\":1 \"b\":2}",
                             "[1}",      "{\"a\":1]", "1 2",         "{} {}", "\"a\" x",  "NaN",
                             "Infinity", "'a'",       "// c\n1"}) {
        EXPECT_FALSE(is_json(text)) << text;
        EXPECT_FALSE(boost_accepts(text)) << text;
    }
}

TEST(JsonScan, DepthIsBoundedWithoutRecursion) {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_TRUE(is_json(nested(max_depth)));
    EXPECT_FALSE(is_json(nested(max_depth + 1)));
    EXPECT_FALSE(is_json(std::string(std::size_t{8} << 20, '[')));
    EXPECT_FALSE(is_json(std::string(std::size_t{8} << 20, '{')));
}

TEST(JsonScan, WhatIsNestedTooDeepIsToldFromWhatIsNoJson) {
    for (const std::size_t depth : {max_depth, max_depth + 1, max_depth + 64, std::size_t{100'000}}) {
        std::string text;
        for (std::size_t level = depth; level > 0; --level)
            text += level % 3 == 0 ? "{\"a\":" : "[";
        text += '0';
        for (std::size_t level = 1; level <= depth; ++level)
            text += level % 3 == 0 ? '}' : ']';
        const Extent extent = extent_of_value(text, 0);
        EXPECT_EQ(extent.end, text.size()) << depth;
        EXPECT_EQ(extent.too_deep, depth > max_depth) << depth;
        EXPECT_EQ(end_of_value(text, 0) == std::string::npos, depth > max_depth) << depth;
        text.back() = text.back() == ']' ? '}' : ']';
        EXPECT_EQ(extent_of_value(text, 0).end, std::string::npos) << depth;
    }
    const std::string deep = std::string(5000, '[') + std::string(5000, ']');
    const std::string object = "{\"a\":" + deep + ",\"b\":2}";
    ObjectReader reader(object);
    EXPECT_TRUE(reader.next() && reader.key() == "a" && reader.value() == deep && reader.too_deep());
    EXPECT_TRUE(reader.next() && reader.key() == "b" && reader.value() == "2");
    EXPECT_TRUE(!reader.next() && reader.complete());
}

// Texts made of the pieces that matter: the two must agree on every one.
TEST(JsonScan, AgreesWithBoostOnRandomTexts) {
    const char* pieces[] = {"{", "}",    "[",    "]",    ",", ":",       "\"a\"", "\"\"",
                            "1", "-2.5", "null", "true", " ", "\"\\n\"", "0",     "e5"};
    std::mt19937 dice(7);
    std::size_t accepted = 0;
    for (int i = 0; i < 300'000; ++i) {
        std::string text;
        const std::size_t count = 1 + dice() % 9;
        for (std::size_t n = 0; n < count; ++n)
            text += pieces[dice() % std::size(pieces)];
        const bool ours = is_json(text);
        ASSERT_EQ(ours, boost_accepts(text)) << text;
        accepted += ours;
    }
    EXPECT_GT(accepted, 1000U); // both answers occurred, or the comparison would say nothing
}

TEST(JsonScan, ObjectsAreReadMemberByMember) {
    ObjectReader reader(R"( { "a" : 1, "b\n":{"x":[1,2]} ,"c":"q\"}" } )");
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.key(), "a");
    EXPECT_EQ(reader.value(), "1");
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.key(), "b\\n");
    EXPECT_EQ(reader.value(), R"({"x":[1,2]})");
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.value(), R"("q\"}")");
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.complete());
    EXPECT_FALSE(reader.next());
}

TEST(JsonScan, ABrokenObjectGivesWhatCameBeforeTheBreak) {
    ObjectReader reader(R"({"id":7,"result":{"cut)");
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.value(), "7");
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.complete());
    ObjectReader list("[1]");
    EXPECT_FALSE(list.next());
    EXPECT_FALSE(list.complete());
    ObjectReader more("{} x");
    EXPECT_FALSE(more.next());
    EXPECT_FALSE(more.complete());
}

TEST(JsonScan, StringsAreReadWithTheirEscapes) {
    EXPECT_EQ(unquote(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
    EXPECT_EQ(unquote(R"("\ud83d\ude00\u00e9\b\f")"), "\xF0\x9F\x98\x80\xC3\xA9\b\f");
    EXPECT_EQ(unquote(R"("\ud83d x")"), "\xEF\xBF\xBD x"); // half a pair
    EXPECT_EQ(unquote(R"("\ud83d\u0041")"), "\xEF\xBF\xBD"
                                            "A");
    EXPECT_EQ(unquote("12"), std::nullopt);
    EXPECT_EQ(unquote("\"a\" "), std::nullopt);
    EXPECT_EQ(unquote(""), std::nullopt);
}

} // namespace
