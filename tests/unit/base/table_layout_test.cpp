// Widths of text on a terminal, and tables that fit one.
#include "base/display_width.hpp"
#include "base/table_layout.hpp"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

TEST(DisplayWidth, counts_columns_and_not_bytes_or_characters) {
    const std::pair<const char*, std::size_t> cases[] = {
        {"", 0},
        {"abc", 3},
        {"Zürich", 6},
        {"日本語", 6},
        {"한국어", 6},
        {"e\xCC\x81t\xCC\x83", 2},                   // é and t̃, written with combining marks
        {"\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", 2}, // one Hangul syllable out of three letters
        {"🚀", 2},
        {"ｆｕｌｌ", 8},
        {"\xFF", 1},
    };
    for (const auto& [text, width] : cases)
        EXPECT_EQ(display_width(std::string_view(text)), width) << text;
}

TEST(DisplayWidth, a_shortened_text_has_at_most_the_columns_and_is_cut_between_characters) {
    EXPECT_EQ(shorten_to_width("node server.js", 8), "node se…");
    EXPECT_EQ(shorten_to_width("short", 5), "short");
    EXPECT_EQ(shorten_to_width("/home/ann/project/server.js", 13, Shorten::middle), "/home/…ver.js");
    EXPECT_EQ(shorten_to_width("日本語日本語", 6), "日本…")
        << "a wide character that does not fit is left out";
    EXPECT_EQ(shorten_to_width("ae\xCC\x81io", 3), "ae\xCC\x81…") << "a mark stays with its character";
    EXPECT_EQ(shorten_to_width("abc", 1), "…");
    EXPECT_EQ(shorten_to_width("abc", 0), "");
    const std::string mixed = "x日e\xCC\x81🚀語 y\xCC\x81z";
    for (const Shorten how : {Shorten::end, Shorten::middle})
        for (std::size_t columns = 0; columns <= 12; ++columns)
            EXPECT_LE(display_width(shorten_to_width(mixed, columns, how)), columns);
}

TEST(DisplayWidth, padding_stands_on_the_side_that_was_asked_for) {
    EXPECT_EQ(pad_to_width("日", 4), "日  ");
    EXPECT_EQ(pad_to_width("12", 4, true), "  12");
    EXPECT_EQ(pad_to_width("12345", 4), "12345");
}

TableText helpers() {
    return {
        .columns = {{.title = "NAME", .least = 6},
                    {.title = "PID", .right = true},
                    {.title = "MEMORY", .importance = 50, .right = true},
                    {.title = "HOST", .importance = 20, .least = 6},
                    {.title = "COMMAND", .importance = 90, .least = 10, .shorten = Shorten::middle}},
        .rows = {{"memory-bridge", "4711", "12.5 MB", "29144 bash", "node /opt/bridge/server.js --port 1"},
                 {"日本語サーバー", "12", "1.5 MB", "1 init", "sleep 5"}}};
}

TEST(TableLayout, without_a_limit_nothing_is_shortened_or_left_out) {
    EXPECT_EQ(table_lines(helpers(), unlimited_width),
              (std::vector<std::string>{
                  "NAME             PID   MEMORY  HOST        COMMAND",
                  "memory-bridge   4711  12.5 MB  29144 bash  node /opt/bridge/server.js --port 1",
                  "日本語サーバー    12   1.5 MB  1 init      sleep 5"}));
}

TEST(TableLayout, columns_are_shortened_before_any_is_left_out_and_the_least_important_goes_first) {
    const auto at60 = table_lines(helpers(), 60);
    EXPECT_NE(at60[0].find("HOST"), std::string::npos);
    EXPECT_NE(at60[1].find("…"), std::string::npos);
    const auto at40 = table_lines(helpers(), 40);
    EXPECT_EQ(at40[0].find("HOST"), std::string::npos);
    EXPECT_NE(at40[0].find("MEMORY"), std::string::npos);
    const auto at20 = table_lines(helpers(), 20);
    EXPECT_EQ(at20[0], "NAME             PID") << "only what always stays";
}

TEST(TableLayout, no_line_is_wider_than_the_terminal_at_any_width) {
    for (std::size_t width = 1; width <= 120; ++width)
        for (const std::string& line : table_lines(helpers(), width)) {
            EXPECT_LE(display_width(line), width) << line;
            EXPECT_FALSE(line.ends_with(' ')) << line;
        }
}

TEST(TableLayout, the_title_of_a_column_is_never_cut_while_the_column_may_be_left_out) {
    for (std::size_t width = 20; width <= 120; ++width)
        for (std::size_t at = 0; const std::size_t columns : fit_columns(helpers(), width)) {
            const std::string title = helpers().columns[at++].title;
            EXPECT_TRUE(columns == 0 || columns >= display_width(title)) << title << " at " << width;
        }
}

} // namespace
} // namespace holdfast::base
