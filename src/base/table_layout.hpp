// A table of text that fits a given width: columns are shortened, and the least important ones are left out.
// Pure.
#pragma once

#include "base/display_width.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::base {

struct Column {
    std::string title;
    // The column with the lowest importance is left out first. Columns with the importance `always` stay.
    int importance = always;
    // A column that may be shortened keeps at least so many columns of the terminal. 0: it is never
    // shortened.
    std::size_t least = 0;
    Shorten shorten = Shorten::end;
    bool right = false; // numbers stand at the right edge

    static constexpr int always = 1000;
};

struct TableText {
    std::vector<Column> columns;
    std::vector<std::vector<std::string>> rows; // each with one cell per column; printable() text
};

inline constexpr std::size_t unlimited_width = static_cast<std::size_t>(-1);

// How wide each column becomes so that the whole is at most `width` wide; 0: it is left out. Columns are
// shortened before any is left out. When even the columns that always stay are too wide, the last of them
// gets one column at least, and table_lines() cuts the lines.
std::vector<std::size_t> fit_columns(const TableText& table, std::size_t width);

// The header and the rows, each without blanks at its end. No line is wider than `width`.
std::vector<std::string> table_lines(const TableText& table, std::size_t width);

} // namespace holdfast::base
