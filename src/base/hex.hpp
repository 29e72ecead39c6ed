// Hexadecimal digits: written and read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::base {

enum class HexLetters : bool { small, capital };

constexpr char hex_digit(unsigned value, HexLetters letters = HexLetters::small) noexcept {
    return (letters == HexLetters::small ? "0123456789abcdef" : "0123456789ABCDEF")[value & 15U];
}

// With leading zeros up to `least_digits`.
inline void append_hex(std::string& out, std::uint64_t value, int least_digits,
                       HexLetters letters = HexLetters::small) {
    int digits = 1;
    while (digits < 16 && (value >> (4 * digits) != 0 || digits < least_digits))
        ++digits;
    for (int digit = digits - 1; digit >= 0; --digit)
        out += hex_digit(static_cast<unsigned>(value >> (4 * digit) & 15U), letters);
}

// Two digits for each byte.
template <class Bytes>
std::string hex_of(const Bytes& bytes) {
    std::string out;
    for (const auto byte : bytes)
        append_hex(out, static_cast<unsigned char>(byte), 2);
    return out;
}

// The value of one digit, small or capital; -1 when it is none.
constexpr int hex_value(char digit) noexcept {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

} // namespace holdfast::base
