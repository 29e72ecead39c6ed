#include "base/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace holdfast::base {

namespace {

struct Range {
    char32_t first, last;
};

// Each of these steers a terminal, changes the order in which text is shown, or shows nothing at all, so that
// two different names look the same: what Unicode calls "default ignorable", and controls. Sorted.
constexpr std::array unprintable = {
    Range{0x00, 0x1f},       // C0
    Range{0x7f, 0x9f},       // DEL, and C1 with the one-character CSI and OSC
    Range{0xad, 0xad},       // soft hyphen
    Range{0x34f, 0x34f},     // combining grapheme joiner
    Range{0x61c, 0x61c},     // Arabic letter mark
    Range{0x115f, 0x1160},   // Hangul fillers
    Range{0x17b4, 0x17b5},   // Khmer inherent vowels
    Range{0x180b, 0x180f},   // Mongolian variation selectors and vowel separator
    Range{0x200b, 0x200f},   // zero-width space and joiners, marks of direction
    Range{0x2028, 0x202e},   // line and paragraph separator, bidirectional embeddings and overrides
    Range{0x2060, 0x206f},   // word joiner, invisible operators, bidirectional isolates
    Range{0x3164, 0x3164},   // Hangul filler
    Range{0xfe00, 0xfe0f},   // variation selectors; see is_with_its_selector()
    Range{0xfeff, 0xfeff},   // zero-width no-break space
    Range{0xffa0, 0xffa0},   // half-width Hangul filler
    Range{0xfff0, 0xfffb},   // unassigned, interlinear annotation
    Range{0x1bca0, 0x1bca3}, // shorthand format controls
    Range{0x1d173, 0x1d17a}, // musical format controls
    Range{0xe0000, 0xe0fff}, // tags, variation selectors
};

bool is_unprintable(char32_t code) {
    const auto* range = std::ranges::upper_bound(unprintable, code, {}, &Range::first);
    return range != unprintable.begin() && code <= std::prev(range)->last;
}

// U+FE0E and U+FE0F choose between the two looks of a symbol. Much text has them behind its emoji, where they
// disguise nothing; behind a letter they would.
bool is_with_its_selector(char32_t code, std::string_view behind) {
    constexpr char32_t first_symbol = 0x2000;
    return code >= first_symbol && (behind.starts_with("\xEF\xB8\x8E") || behind.starts_with("\xEF\xB8\x8F"));
}

// The bytes at the start of `text` that are shown as they are. Nearly all text is plain ASCII.
std::size_t plain_length(std::string_view text) {
    const auto* end = std::ranges::find_if_not(text, [](char byte) { return byte >= 0x20 && byte < 0x7f; });
    return static_cast<std::size_t>(end - text.begin());
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        out += "0123456789abcdef"[value >> shift & 0xfU];
}

void append_json_escape(std::string& out, char32_t code) {
    const auto unit = [&out](std::uint32_t value) {
        out += "\\u";
        append_hex(out, value, 4);
    };
    if (code < 0x10000)
        return unit(code);
    unit(0xd800 + ((code - 0x10000) >> 10));
    unit(0xdc00 + (code - 0x10000) % 0x400);
}

} // namespace

Character first_character(std::string_view text) {
    auto length = utf8_length(text);
    if (length == 0)
        return {.length = 1, .code = static_cast<unsigned char>(text[0]), .printable = false, .valid = false};
    static constexpr std::array<unsigned char, 5> lead_bits = {0, 0x7f, 0x1f, 0x0f, 0x07};
    char32_t code = static_cast<unsigned char>(text[0]) & lead_bits[length];
    for (std::size_t at = 1; at < length; ++at)
        code = code << 6 | (static_cast<unsigned char>(text[at]) & 0x3fU);
    const bool is_printable = !is_unprintable(code);
    if (is_printable && is_with_its_selector(code, text.substr(length)))
        length += 3;
    return {.length = length, .code = code, .printable = is_printable, .valid = true};
}

std::size_t utf8_length(std::string_view text) {
    auto lead = static_cast<unsigned char>(text[0]);
    std::size_t length = lead < 0x80         ? 1
                         : lead >> 5 == 0x6  ? 2
                         : lead >> 4 == 0xe  ? 3
                         : lead >> 3 == 0x1e ? 4
                                             : 0;
    if (length == 0 || length > text.size())
        return 0;
    static constexpr std::array<unsigned char, 5> lead_bits = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static constexpr std::array<std::uint32_t, 5> smallest = {0, 0, 0x80, 0x800,
                                                              0x10000}; // longer forms are not valid
    std::uint32_t code = lead & lead_bits[length];
    for (std::size_t i = 1; i < length; ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        if (byte >> 6 != 0x2)
            return 0;
        code = code << 6 | (byte & 0x3fU);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return surrogate || code > 0x10ffff || code < smallest[length] ? 0 : length;
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto plain = plain_length(text);
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty())
            break;
        const auto character = first_character(text);
        if (character.printable)
            out += text.substr(0, character.length);
        else
            out += '?';
        text.remove_prefix(character.length);
    }
    return out;
}

std::string printable_lines(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (;;) {
        const auto end = text.find('\n');
        auto line = text.substr(0, end);
        if (end != text.npos && line.ends_with('\r'))
            line.remove_suffix(1);
        for (;;) {
            const auto tab = line.find('\t');
            out += printable(line.substr(0, tab));
            if (tab == line.npos)
                break;
            out += ' ';
            line.remove_prefix(tab + 1);
        }
        if (end == text.npos)
            return out;
        out += '\n';
        text.remove_prefix(end + 1);
    }
}

std::string printable_json(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto plain = plain_length(text);
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty())
            break;
        const auto character = first_character(text);
        if (!character.valid)
            out += "\xEF\xBF\xBD";
        else if (character.printable || character.code < 0x20) // raw ones stand between tokens only
            out += text.substr(0, character.length);
        else
            append_json_escape(out, character.code);
        text.remove_prefix(character.length);
    }
    return out;
}

std::string as_utf8(std::string text) {
    if (is_utf8(text))
        return text;
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = utf8_length(rest);
        out += length == 0 ? std::string_view("\xEF\xBF\xBD") : rest.substr(0, length);
        rest.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto length = utf8_length(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::size_t shown_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

} // namespace holdfast::base
