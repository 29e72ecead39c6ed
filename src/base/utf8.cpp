#include "base/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace holdfast::base {

std::size_t utf8_length(std::string_view text) noexcept {
    if (text.empty())
        return 0;
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return follows(1) ? 2 : 0;
    // Behind these leads the second byte tells a character from an overlong form, a surrogate, or what is too
    // large.
    const unsigned second = byte(1);
    if (lead >= 0xe0 && lead <= 0xef) {
        const bool bad = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f);
        return !bad && follows(1) && follows(2) ? 3 : 0;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        const bool bad = (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
        return !bad && follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        // Nearly all text is ASCII: eight bytes at a time.
        std::uint64_t block = 0;
        if (text.size() >= sizeof block) {
            std::memcpy(&block, text.data(), sizeof block);
            if ((block & 0x8080808080808080ULL) == 0) {
                text.remove_prefix(sizeof block);
                continue;
            }
        }
        const std::size_t length = utf8_length(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

void append_as_utf8(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        out += length == 0 ? replacement_character : text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
}

std::string as_utf8(std::string text) {
    if (is_utf8(text))
        return text;
    std::string out;
    append_as_utf8(out, text);
    return out;
}

char32_t decode_utf8(std::string_view text, std::size_t& at) noexcept {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) {
        ++at;
        return lead;
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
        ++at;
        return replacement_code;
    }
    char32_t code = lead & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i)
        code = code << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
    at += length;
    return code;
}

void append_utf8(std::string& out, char32_t code) {
    const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0 | code >> 6);
        put(0x80 | (code & 0x3f));
    } else if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        out += replacement_character;
    } else if (code < 0x10000) {
        put(0xe0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
    } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3f));
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
    }
}

std::size_t boundary_before(std::string_view text, std::size_t at) noexcept {
    if (at >= text.size())
        return text.size();
    while (at > 0 && !starts_character(text[at]))
        --at;
    return at;
}

std::size_t boundary_behind(std::string_view text, std::size_t at) noexcept {
    while (at < text.size() && !starts_character(text[at]))
        ++at;
    return at < text.size() ? at : text.size();
}

std::string_view cut_at_character(std::string_view text, std::size_t most) noexcept {
    return text.substr(0, boundary_before(text, most));
}

} // namespace holdfast::base
