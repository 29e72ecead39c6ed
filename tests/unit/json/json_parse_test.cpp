// The parser: numbers, limits, hostile texts. Boost.JSON is the second opinion.
#include "json/json_parse.hpp"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <random>

namespace holdfast::json {
namespace {

json::value parsed(std::string_view text, const Limits& limits = {}) {
    auto read = parse(text, limits);
    EXPECT_TRUE(read) << text << ": " << (read ? "" : read.error().message);
    return read.value_or(nullptr);
}

constexpr Limits mending{.half_pairs = HalfPairs::replaced};

TEST(JsonParse, every_number_is_the_one_that_was_written) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> near(-1, 1);
    int off_by_boost = 0;
    for (int i = 0; i < 20'000; ++i) {
        const double number = near(random) * (i % 2 == 0 ? 1 : 1e12);
        char digits[40];
        const std::string text(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
        EXPECT_EQ(parsed("[" + text + "]").as_array()[0].to_number<double>(), number) << text;
        off_by_boost +=
            boost::json::parse("[" + text + "]").as_array()[0].to_number<double>() != number ? 1 : 0;
    }
    EXPECT_GT(off_by_boost, 0); // or it could be asked directly again
}

TEST(JsonParse, everything_else_is_as_boost_has_it) {
    const char* const text =
        R"({"a":[1,-2,18446744073709551615,1e3,0.1,true,false,null],"b\n":{"c":"\u00e9\ud83d\ude00 d","":[]}})";
    EXPECT_EQ(parsed(text), boost::json::parse(text));
    EXPECT_EQ(parsed("1e400").to_number<double>(), boost::json::parse("1e400").to_number<double>());
    EXPECT_EQ(parsed(std::string(100'000, ' ') + "7"), json::value(7));
    for (const char* wrong : {"", "[", "{\"a\":}", "1 2", "nul", "[1,]", "\"\\ud800\"", "\x01"}) {
        const auto ours = parse(wrong);
        boost::system::error_code theirs;
        static_cast<void>(boost::json::parse(wrong, theirs));
        ASSERT_FALSE(ours) << wrong;
        EXPECT_EQ(ours.error().code, Errc::protocol) << wrong;
        EXPECT_EQ(ours.error().message, theirs.message()) << wrong;
    }
}

TEST(JsonParse, each_limit_holds_to_the_number) {
    const auto nested = [](std::size_t depth) {
        std::string text;
        for (std::size_t level = 0; level < depth; ++level)
            text += level % 2 == 0 ? "[" : "{\"a\":";
        text += '0';
        for (std::size_t level = depth; level > 0; --level)
            text += level % 2 == 1 ? ']' : '}';
        return text;
    };
    for (const std::size_t depth : {std::size_t{1}, std::size_t{16}, std::size_t{200}, std::size_t{250}}) {
        EXPECT_TRUE(parse(nested(depth), {.depth = depth})) << depth;
        const auto deeper = parse(nested(depth + 1), {.depth = depth});
        ASSERT_FALSE(deeper) << depth;
        EXPECT_EQ(deeper.error().code, Errc::overflow) << depth;
    }
    EXPECT_TRUE(parse(nested(200)));
    EXPECT_FALSE(parse(nested(201)));
    EXPECT_FALSE(parse_object("{\"a\":" + nested(16) + "}"));
    EXPECT_TRUE(parse_object("{\"a\":" + nested(15) + "}"));
    EXPECT_TRUE(parse("[12345]", {.bytes = 7}));
    const auto longer = parse("[123456]", {.bytes = 7});
    ASSERT_FALSE(longer);
    EXPECT_EQ(longer.error().code, Errc::overflow);
    // Half of a pair does not help a text over a limit.
    const auto mended = parse("[\"\\ud800\"," + nested(201) + "]", mending);
    ASSERT_FALSE(mended);
    EXPECT_EQ(mended.error().code, Errc::overflow)
        << "a caller looks for the id of such a message, and answers it";
}

TEST(JsonParse, hostile_texts_end_quickly_and_without_recursion) {
    for (const char* piece : {"[", "{\"a\":", "[[{\"\":"}) {
        std::string text;
        while (text.size() < std::size_t{4} << 20)
            text += piece;
        EXPECT_FALSE(parse(text)) << piece;
        EXPECT_FALSE(parse(text, mending)) << piece;
    }
    // Every beginning of a text is refused, and nothing is read behind it.
    const std::string whole = R"({"a":[1,-2.5e3,"\u00e9\ud83d\ude00",true],"b":{"c":null}})";
    ASSERT_TRUE(parse(whole));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::string cut(whole, 0, length);
        EXPECT_FALSE(parse(cut)) << cut;
    }
    const std::string zeros = "{\"a\":\"b\0c\"}" + std::string(1, '\0');
    EXPECT_FALSE(parse(zeros));
}

TEST(JsonParse, names_that_come_twice_have_their_last_value) {
    EXPECT_EQ(parsed(R"({"a":1,"b":2,"a":3})").at("a"), 3);
    EXPECT_EQ(parsed(R"({"a":1,"b":2,"a":3})").as_object().size(), 2U);
}

TEST(JsonParse, bytes_that_are_not_utf8_are_taken_only_where_that_is_said) {
    for (const char* text :
         {"{\"a\":\"caf\xe9\"}", "{\"\xff\":1}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xc0\x80\"}"}) {
        EXPECT_FALSE(parse(text)) << text;
        EXPECT_TRUE(parse(text, {.strings = Strings::any_bytes})) << text;
        EXPECT_TRUE(parse_object(text)) << text; // a record
    }
    EXPECT_EQ(parsed("{\"a\":\"caf\xe9\"}", record_limits).at("a"), "caf\xe9");
}

TEST(JsonParse, half_pairs_become_replacement_characters_and_nothing_else_changes) {
    struct Case {
        const char* text;
        const char* read;
    };
    for (const auto& [text, read] : {Case{R"("caf\udce9")", "caf\xef\xbf\xbd"},
                                     {R"("\uD83D")", "\xef\xbf\xbd"},
                                     {R"("\ud83d\ud83d\ude00")", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
                                     {R"("\ude00\ud83d")", "\xef\xbf\xbd\xef\xbf\xbd"},
                                     {R"("\ud83dx\ude00")", "\xef\xbf\xbdx\xef\xbf\xbd"},
                                     {R"("\\\udce9")", "\\\xef\xbf\xbd"},
                                     {R"("\\udce9\ud800")", "\\udce9\xef\xbf\xbd"}}) {
        EXPECT_FALSE(parse(text)) << text;
        EXPECT_EQ(parsed(text, mending), read) << text;
    }
    for (const char* sound : {R"("\ud83d\ude00")", R"("\\udce9")", R"("\\\\udce9")", R"("a\nb\u00e9")"})
        EXPECT_EQ(parsed(sound, mending), parsed(sound)) << sound;
    for (const char* broken :
         {R"({"a":"\udce9")", R"(\udce9)", "{", "\"\xff\\udce9\"", R"("\ud8")", R"("\uzzzz")", R"("\)", ""})
        EXPECT_FALSE(parse(broken, mending)) << broken;
    EXPECT_EQ(parsed(R"({"a":"caf\udce9"})", mending).at("a"), "caf\xef\xbf\xbd");
}

TEST(JsonParse, only_an_object_is_an_object) {
    for (const char* text : {"", "[]", "1", "null", "\"{}\"", "{} {}", "{"})
        EXPECT_FALSE(parse_object(text)) << text;
    EXPECT_TRUE(parse_object(" {} "));
}

TEST(JsonParse, values_are_kept_in_the_memory_that_is_given) {
    std::array<unsigned char, 8192> block;
    monotonic_resource memory(block.data(), block.size());
    const auto read =
        parse_object(R"({"a":["a text that is longer than what a string keeps in itself"]})", {}, &memory);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->storage().get(), &memory);
    EXPECT_EQ(read->at("a").storage().get(), &memory);
}

} // namespace
} // namespace holdfast::json
