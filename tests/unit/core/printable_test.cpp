#include "core/printable.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

TEST(Printable, what_would_steer_a_terminal_or_break_json_becomes_a_question_mark) {
    EXPECT_EQ(printable("caf\xc3\xa9 \xe2\x80\x94 \xf0\x9f\x90\xa6"),
              "caf\xc3\xa9 \xe2\x80\x94 \xf0\x9f\x90\xa6");
    EXPECT_EQ(printable("a\033[31mb\x7f\n"), "a?[31mb??");
    EXPECT_EQ(printable("a\xc2\x85"
                        "b"),
              "a??b"); // a control character of two bytes
    EXPECT_EQ(printable("caf\xe9"), "caf?");
}

TEST(Printable, for_json_what_is_not_utf8_is_replaced_and_nothing_else) {
    EXPECT_EQ(as_utf8("caf\xc3\xa9\n\x01"), "caf\xc3\xa9\n\x01");
    EXPECT_EQ(as_utf8("caf\xe9, \xe6\x97"), "caf\xef\xbf\xbd, \xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Printable, utf8_is_told_from_what_is_not) {
    for (const char* text :
         {"", "plain", "del \x7f, nel \xc2\x85", "\xe6\x97\xa5\xe6\x9c\xac", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(text)) << text;
    // Latin-1, a cut character, an overlong form, a surrogate, above the last code point.
    for (const char* text : {"caf\xe9", "\xe6\x97", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
        EXPECT_FALSE(is_utf8(text)) << text;
}

} // namespace
} // namespace holdfast::core
