#include "memory/text/hidden_letters.hpp"

#include "base/utf8.hpp"
#include "memory/text/letters.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace holdfast::memory {

namespace {

struct Range {
    char32_t first;
    char32_t last;
};

// Unicode, property Default_Ignorable_Code_Point. Sorted.
constexpr std::array hidden = {
    Range{0xad, 0xad},       Range{0x34f, 0x34f},   Range{0x61c, 0x61c},     Range{0x115f, 0x1160},
    Range{0x17b4, 0x17b5},   Range{0x180b, 0x180f}, Range{0x200b, 0x200f},   Range{0x202a, 0x202e},
    Range{0x2060, 0x206f},   Range{0x3164, 0x3164}, Range{0xfe00, 0xfe0f},   Range{0xfeff, 0xfeff},
    Range{0xffa0, 0xffa0},   Range{0xfff0, 0xfff8}, Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a},
    Range{0xe0000, 0xe0fff},
};

bool is_ascii(char byte) {
    return static_cast<unsigned char>(byte) < 0x80;
}

// The length in UTF-8 of the hidden letter at `at`, or 0.
std::size_t hidden_at(std::string_view text, std::size_t at) {
    if (is_ascii(text[at]))
        return 0;
    auto end = at;
    const auto code = base::decode_utf8(text, end);
    const auto* range = std::ranges::upper_bound(hidden, code, {}, &Range::first);
    return range != hidden.begin() && code <= std::prev(range)->last ? end - at : 0;
}

} // namespace

bool has_hidden_letters(std::string_view text) {
    const auto* const end = text.end();
    for (const auto* at = std::find_if_not(text.begin(), end, is_ascii); at != end;
         at = std::find_if_not(at + 1, end, is_ascii))
        if (hidden_at(text, static_cast<std::size_t>(at - text.begin())) > 0)
            return true;
    return false;
}

std::string without_hidden_letters(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto length = hidden_at(text, at);
        if (length == 0)
            shown += text[at];
        at += std::max<std::size_t>(1, length);
    }
    return shown;
}

std::string cut_out(std::string_view text, const std::vector<Cut>& cuts) {
    std::string out;
    std::size_t shown = 0; // how many that are not hidden stand before `at`
    auto cut = cuts.begin();
    for (std::size_t at = 0; at < text.size();) {
        const auto length = hidden_at(text, at);
        const bool begun = cut != cuts.end() && shown > cut->begin; // hidden ones at the edges stay
        if (length == 0 && cut != cuts.end() && shown == cut->begin)
            out += cut->instead;
        if (cut == cuts.end() || shown < cut->begin || (length > 0 && !begun))
            out += text.substr(at, std::max<std::size_t>(1, length));
        at += std::max<std::size_t>(1, length);
        shown += static_cast<std::size_t>(length == 0);
        if (cut != cuts.end() && shown == cut->end)
            ++cut;
    }
    return out;
}

} // namespace holdfast::memory
