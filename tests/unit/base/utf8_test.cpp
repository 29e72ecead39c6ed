// UTF-8 checked, decoded, written and cut. The C library's iconv is the second opinion.
#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <iconv.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace holdfast::base {
namespace {

class Iconv {
public:
    Iconv(const char* to, const char* from)
        : way_(::iconv_open(to, from)) {}
    Iconv(const Iconv&) = delete;
    Iconv& operator=(const Iconv&) = delete;
    ~Iconv() { ::iconv_close(way_); }
    // Nothing when it cannot be converted.
    std::optional<std::string> convert(std::string text) {
        std::string out(text.size() * 4 + 16, '\0');
        char* from = text.data();
        char* to = out.data();
        std::size_t left = text.size();
        std::size_t room = out.size();
        ::iconv(way_, nullptr, nullptr, nullptr, nullptr);
        if (::iconv(way_, &from, &left, &to, &room) == static_cast<std::size_t>(-1))
            return std::nullopt;
        out.resize(out.size() - room);
        return out;
    }

private:
    iconv_t way_;
};

std::string in_four_bytes(char32_t code) {
    std::string out;
    for (int shift = 0; shift < 32; shift += 8)
        out += static_cast<char>(code >> shift & 0xffU);
    return out;
}

TEST(Utf8, every_character_is_written_and_read_as_the_c_library_does) {
    Iconv to_utf8("UTF-8", "UTF-32LE");
    for (char32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 7) {
        std::string text;
        append_utf8(text, code);
        const bool surrogate = code >= 0xd800 && code < 0xe000;
        if (surrogate) {
            ASSERT_EQ(text, replacement_character) << std::hex << static_cast<unsigned>(code);
            continue;
        }
        ASSERT_EQ(text, to_utf8.convert(in_four_bytes(code))) << std::hex << static_cast<unsigned>(code);
        std::size_t at = 0;
        ASSERT_EQ(decode_utf8(text, at), code);
        ASSERT_EQ(at, text.size());
        ASSERT_EQ(utf8_length(text + "x"), text.size());
        ASSERT_TRUE(is_utf8(text));
    }
    std::string beyond;
    append_utf8(beyond, 0x110000);
    append_utf8(beyond, 0xffffffff);
    EXPECT_EQ(beyond, std::string(replacement_character) + std::string(replacement_character));
}

TEST(Utf8, what_is_none_is_refused_as_the_c_library_does) {
    Iconv from_utf8("UTF-32LE", "UTF-8");
    std::mt19937 random(3);
    // Bytes at the edges of what may stand where.
    constexpr std::array<unsigned char, 26> edges = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                                     0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                                     0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xfe, 0xff};
    std::size_t sound = 0;
    for (int i = 0; i < 400'000; ++i) {
        std::string text;
        for (std::size_t left = 1 + random() % 5; left > 0; --left)
            text += static_cast<char>(i % 3 == 0 ? random() % 256 : edges[random() % edges.size()]);
        const bool theirs = from_utf8.convert(text).has_value();
        ASSERT_EQ(is_utf8(text), theirs) << testing::PrintToString(text);
        ASSERT_EQ(is_utf8("eight bytes of ASCII" + text), theirs);
        sound += theirs ? 1 : 0;
        const auto mended = as_utf8(text);
        ASSERT_TRUE(is_utf8(mended));
        ASSERT_EQ(mended == text, theirs);
        std::string again;
        for (std::size_t at = 0; at < text.size();)
            append_utf8(again, decode_utf8(text, at));
        ASSERT_EQ(again, mended); // one U+FFFD for each byte, in both
    }
    EXPECT_GT(sound, 1000U); // both answers occurred
    EXPECT_EQ(utf8_length(""), 0U);
    for (const char* text : {"\xFF", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                             "\xF4\x90\x80\x80", "\x80", "12345678\xE2\x82", "\xF8\x88\x80\x80\x80"})
        EXPECT_FALSE(is_utf8(text));
    EXPECT_TRUE(is_utf8("plain text, longer than eight bytes"));
    EXPECT_TRUE(is_utf8("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 tail"));
}

TEST(Utf8, a_text_is_cut_between_characters) {
    const std::string text = "a\xC3\xA9\xE6\x97\xA5\xF0\x9F\x90\xA6z"; // 1, 2, 3, 4 and 1 bytes
    constexpr std::array<std::size_t, 12> before = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    constexpr std::array<std::size_t, 12> behind = {0, 1, 3, 3, 6, 6, 6, 10, 10, 10, 10, 11};
    for (std::size_t at = 0; at < before.size(); ++at) {
        EXPECT_EQ(boundary_before(text, at), before[at]) << at;
        EXPECT_EQ(boundary_behind(text, at), behind[at]) << at;
        EXPECT_EQ(cut_at_character(text, at), text.substr(0, before[at])) << at;
        EXPECT_TRUE(is_utf8(cut_at_character(text, at))) << at;
    }
    EXPECT_EQ(cut_at_character(text, std::string::npos), text);
    EXPECT_EQ(boundary_behind(text, 1000), text.size());
    EXPECT_EQ(boundary_before(text, 1000), text.size());
    EXPECT_EQ(cut_at_character("", 5), "");
    // Of nothing but bytes in the middle of characters, nothing is left, and nothing is read beyond.
    EXPECT_EQ(cut_at_character("\x80\x80\x80", 2), "");
    EXPECT_EQ(boundary_behind("\x80\x80\x80", 1), 3U);
}

TEST(Utf8, what_is_not_utf8_is_replaced_and_nothing_else) {
    EXPECT_EQ(as_utf8("caf\xc3\xa9\n\x01"), "caf\xc3\xa9\n\x01");
    EXPECT_EQ(as_utf8("caf\xe9, \xe6\x97"), "caf\xef\xbf\xbd, \xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Utf8, it_is_told_from_what_is_not) {
    for (const char* text :
         {"", "plain", "del \x7f, nel \xc2\x85", "\xe6\x97\xa5\xe6\x9c\xac", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(text)) << text;
    // Latin-1, a cut character, an overlong form, a surrogate, above the last code point.
    for (const char* text : {"caf\xe9", "\xe6\x97", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
        EXPECT_FALSE(is_utf8(text)) << text;
}

} // namespace
} // namespace holdfast::base
