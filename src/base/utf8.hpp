// UTF-8: checked, decoded, written and cut. Well-formed as RFC 3629 has it: no overlong form, no surrogate,
// nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::base {

inline constexpr char32_t replacement_code = 0xfffd;
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD"; // U+FFFD

// Length of the well-formed character at the start of `text`; 0 when there is none.
std::size_t utf8_length(std::string_view text) noexcept;
// Whether all of it is well-formed.
bool is_utf8(std::string_view text) noexcept;
// Each byte that belongs to no well-formed character becomes U+FFFD, and all else stays as it is.
std::string as_utf8(std::string text);
void append_as_utf8(std::string& out, std::string_view text);

// Decodes the character at `at`, which is inside `text`, and moves `at` behind it. A byte that begins no
// well-formed one gives U+FFFD and moves `at` by one.
char32_t decode_utf8(std::string_view text, std::size_t& at) noexcept;
// A number that is no character (a surrogate, or beyond U+10FFFF) is written as U+FFFD.
void append_utf8(std::string& out, char32_t code);

// Whether a character begins with this byte.
constexpr bool starts_character(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
}
// The boundary between two characters at `at` or before it, and at `at` or behind it. The end of the text is
// one.
std::size_t boundary_before(std::string_view text, std::size_t at) noexcept;
std::size_t boundary_behind(std::string_view text, std::size_t at) noexcept;
// No more than `most` bytes of it, whole characters.
std::string_view cut_at_character(std::string_view text, std::size_t most) noexcept;

} // namespace holdfast::base
