// How many columns of a terminal a text takes. East Asian characters and most emoji take two, combining marks
// none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::base {

// Of one character: 0, 1 or 2.
std::size_t display_width(char32_t character) noexcept;
// Of a text that printable() has made fit to be shown. An invalid byte counts as one column.
std::size_t display_width(std::string_view text) noexcept;

// Which end of a text that is too long stays readable.
enum class Shorten {
    end,    // "node server.js --po…"
    middle, // "/home/ann/…/server.js": both ends say something
};
// At most `columns` wide, cut between characters, with "…" where something is missing. Of combining marks,
// none is parted from its character. Empty when `columns` is 0.
std::string shorten_to_width(std::string_view text, std::size_t columns, Shorten how = Shorten::end);

// With blanks up to `columns`; unchanged when it is wider. `right`: the blanks come first.
std::string pad_to_width(std::string_view text, std::size_t columns, bool right = false);

} // namespace holdfast::base
