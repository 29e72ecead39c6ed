#include "memory/text/hidden_letters.hpp"

#include <algorithm>

namespace holdfast::memory {

namespace {

// Unicode, "Default_Ignorable_Code_Point": those that occur between letters. The length in UTF-8, or 0.
std::size_t hidden_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t next) {
        return at + next < text.size() ? static_cast<unsigned char>(text[at + next]) : 0U;
    };
    switch (byte(0)) {
    case 0xC2: // U+00AD, soft hyphen
        return byte(1) == 0xAD ? 2 : 0;
    case 0xCD: // U+034F, combining grapheme joiner
        return byte(1) == 0x8F ? 2 : 0;
    case 0xE1: // U+180E, Mongolian vowel separator
        return byte(1) == 0xA0 && byte(2) == 0x8E ? 3 : 0;
    case 0xE2: // U+200B to U+200F, U+202A to U+202E, U+2060 to U+206F
        if (byte(1) == 0x80)
            return (byte(2) >= 0x8B && byte(2) <= 0x8F) || (byte(2) >= 0xAA && byte(2) <= 0xAE) ? 3 : 0;
        return byte(1) == 0x81 && byte(2) >= 0xA0 && byte(2) <= 0xAF ? 3 : 0;
    case 0xEF: // U+FE00 to U+FE0F, variation selectors; U+FEFF, zero-width no-break space
        return (byte(1) == 0xB8 && byte(2) >= 0x80 && byte(2) <= 0x8F) || (byte(1) == 0xBB && byte(2) == 0xBF)
                   ? 3
                   : 0;
    default:
        return 0;
    }
}

} // namespace

bool has_hidden_letters(std::string_view text) {
    for (auto at = text.find_first_of("\xC2\xCD\xE1\xE2\xEF"); at != text.npos;
         at = text.find_first_of("\xC2\xCD\xE1\xE2\xEF", at + 1))
        if (hidden_at(text, at) > 0)
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
