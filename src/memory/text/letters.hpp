// Unicode, as far as search needs it: lower case, base letters, scripts. No locale, no allocation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::memory {

enum class Script : std::uint8_t {
    none,
    digit,
    latin,
    greek,
    cyrillic,
    armenian,
    hebrew,
    arabic,
    devanagari,
    tamil,
    unspaced,
    other
};

// What kind of letter it is. `none` is everything that separates words. `unspaced` are scripts written
// without blanks between words (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese).
Script script_of(char32_t code) noexcept;
// A character that can be a word by itself although it is written without blanks: Han, and Korean syllables.
bool is_word_sign(char32_t code) noexcept;
// Full-width letters and digits, half-width kana and the digits of other scripts as the plain ones; any other
// code point as it is.
char32_t plain_form(char32_t code) noexcept;
// The letters that a small letter stands for which people also write as two (ß, æ, œ), or a ligature (U+FB00
// to U+FB06); empty for any other code point.
std::string_view spelled_out(char32_t code) noexcept;
bool is_upper(char32_t code) noexcept;
char32_t to_lower(char32_t code) noexcept;
// The Latin letter without its marks (é -> e); any other code point as it is.
char32_t base_letter(char32_t code) noexcept;
// Marks that sit on the letter before them, and joiners: part of a word, not indexed.
bool is_mark(char32_t code) noexcept;

// The letter at `at` in its plain form, small, put together with the marks behind it (compose.hpp), and moves
// `at` behind all of them.
char32_t read_letter(std::string_view text, std::size_t& at) noexcept;

} // namespace holdfast::memory
