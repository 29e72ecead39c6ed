// Text of unknown origin, made fit to be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::core {

// Names and command lines are any bytes their process chose. Control characters (they would steer the
// reader's terminal) and bytes that are not UTF-8 (they would break JSON) become '?'.
std::string printable(std::string_view text);

// For JSON, which is UTF-8: each byte that is none becomes U+FFFD, and all else stays as it is.
std::string as_utf8(std::string text);

// Length of the UTF-8 character at the start of `text`, which is not empty; 0 when there is none.
std::size_t utf8_length(std::string_view text);
// Whether all of it is UTF-8.
bool is_utf8(std::string_view text);

// UTF-8: whether a character begins with this byte, and how many there are. Each counts as one column, which
// is right for everything but the wide scripts.
constexpr bool starts_character(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
}
std::size_t shown_width(std::string_view text);

} // namespace holdfast::core
