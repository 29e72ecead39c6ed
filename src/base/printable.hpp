// Text of unknown origin, made fit to be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::base {

// Names, command lines and log lines are any bytes that their process chose. Characters are unprintable when
// they steer the terminal of the reader (C0, DEL, C1), change the order of what is shown (bidirectional
// controls), show nothing (zero-width), break lines, or are not UTF-8.

// On one line: each unprintable character and each invalid byte becomes '?'.
std::string printable(std::string_view text);
// The same, but line ends stay, and a tab becomes a blank. For text of several lines.
std::string printable_lines(std::string_view text);
// For text that is JSON: an unprintable character becomes its escape (\u009b) and an invalid byte U+FFFD. It
// means the same to who parses it.
std::string printable_json(std::string_view text);

struct Character {
    std::size_t length = 1; // bytes, with those of the selector that chooses the look of a symbol
    char32_t code = 0;      // of an invalid byte its value
    bool printable = false;
    bool valid = false;
};
// At the start of `text`, which is not empty.
Character first_character(std::string_view text);

// Whether a terminal shows this character as it is.
bool is_printable(char32_t code) noexcept;

// How many columns a text takes: one for each character, which is right for everything but the wide scripts.
std::size_t shown_width(std::string_view text);
// As much of it as fits into so many.
std::string_view cut_to_width(std::string_view text, std::size_t columns);

} // namespace holdfast::base
