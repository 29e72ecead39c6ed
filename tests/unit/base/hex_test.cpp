#include "base/hex.hpp"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::base {
namespace {

std::string written(std::uint64_t value, int digits, HexLetters letters = HexLetters::small) {
    std::string out;
    append_hex(out, value, digits, letters);
    return out;
}

TEST(Hex, is_as_long_as_asked_and_as_needed) {
    EXPECT_EQ(written(0, 0), "0");
    EXPECT_EQ(written(0, 4), "0000");
    EXPECT_EQ(written(0x1f, 4), "001f");
    EXPECT_EQ(written(0x1f426, 4, HexLetters::capital), "1F426");
    EXPECT_EQ(written(0xffffffffffffffff, 2), "ffffffffffffffff");
    EXPECT_EQ(written(1, 16), "0000000000000001");
    EXPECT_EQ(hex_of(std::array<unsigned char, 3>{0, 0x9b, 0xff}), "009bff");
    EXPECT_EQ(hex_of(std::string("\x00\xff", 2)), "00ff");
}

TEST(Hex, a_digit_is_read_and_nothing_else) {
    int digits = 0;
    for (int c = -128; c < 128; ++c) {
        const int value = hex_value(static_cast<char>(c));
        if (value < 0)
            continue;
        ++digits;
        const auto letters = c < 'a' ? HexLetters::capital : HexLetters::small;
        EXPECT_EQ(hex_digit(static_cast<unsigned>(value), letters), static_cast<char>(c));
    }
    EXPECT_EQ(digits, 22);
}

} // namespace
} // namespace holdfast::base
