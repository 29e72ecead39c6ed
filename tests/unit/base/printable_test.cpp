#include "base/printable.hpp"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

TEST(Printable, what_would_steer_a_terminal_or_break_json_becomes_a_question_mark) {
    EXPECT_EQ(printable("caf\xc3\xa9 \xe2\x80\x94 \xf0\x9f\x90\xa6"),
              "caf\xc3\xa9 \xe2\x80\x94 \xf0\x9f\x90\xa6");
    EXPECT_EQ(printable("a\033[31mb\x7f\n"), "a?[31mb??");
    EXPECT_EQ(printable("a\xc2\x85"
                        "b"),
              "a?b"); // a control character of two bytes
    EXPECT_EQ(printable("caf\xe9"), "caf?");
}

// From the lists of Unicode, not from the table of the code under test.
TEST(Printable, no_control_of_direction_width_or_line_is_left) {
    const auto utf8 = [](char32_t code) {
        std::string out;
        if (code < 0x80)
            return std::string(1, static_cast<char>(code));
        if (code < 0x800)
            return out + static_cast<char>(0xc0 | code >> 6) + static_cast<char>(0x80 | (code & 0x3f));
        if (code >= 0x10000) {
            out += static_cast<char>(0xf0 | code >> 18);
            out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
        } else {
            out += static_cast<char>(0xe0 | code >> 12);
        }
        return out + static_cast<char>(0x80 | (code >> 6 & 0x3f)) + static_cast<char>(0x80 | (code & 0x3f));
    };
    std::u32string hostile =
        U"\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
        U"\u2060\u2066\u2067\u2068\u2069\ufeff"
        // Default_Ignorable_Code_Point, beside those above
        U"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2061\u2062\u2063"
        U"\u2064\u2065\u206a\u206b\u206c\u206d\u206e\u206f\u3164\ufe00\ufe0e\ufe0f\uffa0\ufff0"
        U"\ufff8\U0001bca0\U0001bca3\U0001d173\U0001d17a\U000e0000\U000e0001\U000e007f"
        U"\U000e0100\U000e01ef\U000e0fff";
    for (char32_t code = 0; code < 0xa0; ++code)
        if (code < 0x20 || code >= 0x7f)
            hostile += code;
    for (const char32_t code : hostile) {
        EXPECT_EQ(printable(utf8(code)), "?") << std::hex << static_cast<unsigned>(code);
        if (code != '\n' && code != '\t') {
            EXPECT_EQ(printable_lines(utf8(code)), "?") << std::hex << static_cast<unsigned>(code);
        }
    }
    for (const char* text :
         {"caf\xc3\xa9", "\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
          "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x90\xa6", "\xe2\x80\xa6", "\xc2\xa0"})
        EXPECT_EQ(printable(text), text);
}

// A selector chooses the look of the symbol before it. Behind a letter it would only make two names look
// alike.
TEST(Printable, an_emoji_keeps_the_selector_of_its_look_and_a_letter_has_none) {
    for (const char* text : {"\xe2\x9a\xa0\xef\xb8\x8f ok", "\xe2\x9a\xa0\xef\xb8\x8e"}) {
        EXPECT_EQ(printable(text), text);
        EXPECT_EQ(printable_json(text), text);
    }
    EXPECT_EQ(printable("sleep\xef\xb8\x8f"), "sleep?");
    EXPECT_EQ(printable_json("\"a\xef\xb8\x8f\""), "\"a\\ufe0f\"");
    EXPECT_EQ(printable("\xe2\x9a\xa0\xef\xb8\x8f\xef\xb8\x8f"), "\xe2\x9a\xa0\xef\xb8\x8f?");
}

TEST(Printable, lines_stay_lines) {
    EXPECT_EQ(printable_lines("a\tb\r\nc\rd\033[2J\n"), "a b\nc?d?[2J\n");
    EXPECT_EQ(printable_lines(""), "");
}

TEST(Printable, json_says_the_same_with_escapes) {
    EXPECT_EQ(printable_json("{\"a\":\"caf\xc3\xa9 \xc2\x9b\xe2\x80\xae\x7f\xf3\xa0\x80\x81\"}\n"),
              "{\"a\":\"caf\xc3\xa9 \\u009b\\u202e\\u007f\\udb40\\udc01\"}\n");
    EXPECT_EQ(printable_json("\"\xff\""), "\"\xef\xbf\xbd\"");
}

TEST(Printable, a_line_is_cut_to_columns_between_characters) {
    const std::string line = "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac";
    EXPECT_EQ(cut_to_width(line, 0), "");
    EXPECT_EQ(cut_to_width(line, 3), "caf");
    EXPECT_EQ(cut_to_width(line, 4), "caf\xc3\xa9");
    EXPECT_EQ(cut_to_width(line, 6), "caf\xc3\xa9 \xe6\x97\xa5");
    EXPECT_EQ(cut_to_width(line, 7), line);
    EXPECT_EQ(cut_to_width(line, 1000), line);
    for (std::size_t columns = 0; columns < 9; ++columns)
        EXPECT_LE(shown_width(cut_to_width(line, columns)), columns);
}

} // namespace
} // namespace holdfast::base
