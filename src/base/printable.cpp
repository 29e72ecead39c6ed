#include "base/printable.hpp"

#include "base/hex.hpp"
#include "base/utf8.hpp"

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

// The text with each character that is not plain ASCII as `put` writes it.
template <class Put>
std::string rewritten(std::string_view text, Put put) {
    std::string out;
    out.reserve(text.size());
    for (;;) {
        const auto plain = plain_length(text);
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty())
            return out;
        const auto character = first_character(text);
        put(out, text.substr(0, character.length), character);
        text.remove_prefix(character.length);
    }
}

} // namespace

bool is_printable(char32_t code) noexcept {
    const auto* range = std::ranges::upper_bound(unprintable, code, {}, &Range::first);
    return range == unprintable.begin() || code > std::prev(range)->last;
}

Character first_character(std::string_view text) {
    std::size_t end = 0;
    const auto code = decode_utf8(text, end);
    if (code == replacement_code && end == 1)
        return {.length = 1, .code = static_cast<unsigned char>(text[0]), .printable = false, .valid = false};
    const bool shown = is_printable(code);
    if (shown && is_with_its_selector(code, text.substr(end)))
        end += 3;
    return {.length = end, .code = code, .printable = shown, .valid = true};
}

std::string printable(std::string_view text) {
    return rewritten(text, [](std::string& out, std::string_view bytes, const Character& character) {
        out += character.printable ? bytes : "?";
    });
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
    return rewritten(text, [](std::string& out, std::string_view bytes, const Character& character) {
        if (!character.valid)
            out += replacement_character;
        else if (character.printable || character.code < 0x20) // raw ones stand between tokens only
            out += bytes;
        else
            append_json_escape(out, character.code);
    });
}

std::size_t shown_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string_view cut_to_width(std::string_view text, std::size_t columns) {
    std::size_t shown = 0;
    for (std::size_t at = 0; at < text.size(); ++at)
        if (starts_character(text[at]) && ++shown > columns)
            return text.substr(0, at);
    return text;
}

} // namespace holdfast::base
