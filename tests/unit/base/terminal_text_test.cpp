#include "base/terminal_text.hpp"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

std::string shown(std::string_view text) {
    TerminalText out;
    auto all = out.show(text);
    all += out.finish();
    return all;
}

TEST(TerminalText, colours_lines_and_tabs_stay) {
    const std::string text = "\033[1;31mred\033[0m\tplain\n\033[38;2;1;2;3mtrue\033[m caf\xc3\xa9\n";
    EXPECT_EQ(shown(text), text);
    EXPECT_EQ(shown("a\r\nb"), "a\nb");
}

TEST(TerminalText, everything_else_is_shown_as_text) {
    EXPECT_EQ(shown("\033]0;title\a"), "^[]0;title^G");
    EXPECT_EQ(shown("\033[2Jx\033[6n"), "^[[2Jx^[[6n");
    EXPECT_EQ(shown("\033[?25l\033[>4;1m"), "^[[?25l^[[>4;1m"); // ends in m, and is no colour
    EXPECT_EQ(shown("over\rwritten\b\x7f"), "over^Mwritten^H^?");
    EXPECT_EQ(shown("\xc2\x9b"
                    "31m"),
              "<U+009B>31m");
    EXPECT_EQ(shown("\xe2\x80\xae\xef\xbb\xbf\xf3\xa0\x80\x81"), "<U+202E><U+FEFF><U+E0001>");
    EXPECT_EQ(shown("\x9b"
                    "31m\xff"),
              "<9B>31m<FF>");
    EXPECT_EQ(shown(std::string("\0", 1)), "^@");
    EXPECT_EQ(shown("\033"), "^[");
    EXPECT_EQ(shown("\033[" + std::string(100, '1') + "m"), "^[[" + std::string(100, '1') + "m");
}

TEST(TerminalText, a_colour_that_was_left_on_is_switched_off_at_the_end) {
    EXPECT_EQ(shown("\033[8mhidden"), "\033[8mhidden\033[0m");
    EXPECT_EQ(shown("\033[31mred\033[0mplain"), "\033[31mred\033[0mplain");
}

TEST(TerminalText, wherever_the_text_is_cut_the_same_is_shown) {
    const std::string text = "a\033[1;31mb\r\nc\033]0;t\ad\xe2\x80\xae\xf0\x9f\x90\xa6\xc2\x9b"
                             "e\xe2\x80\r\033";
    const auto whole = shown(text);
    for (std::size_t first = 0; first <= text.size(); ++first)
        for (std::size_t second = first; second <= text.size(); ++second) {
            TerminalText out;
            auto parts = out.show(text.substr(0, first));
            parts += out.show(text.substr(first, second - first));
            parts += out.show(text.substr(second));
            parts += out.finish();
            EXPECT_EQ(parts, whole) << first << ' ' << second;
        }
}

} // namespace
} // namespace holdfast::base
