#include "base/display_width.hpp"

#include "base/printable.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace holdfast::base {

namespace {

struct Range {
    char32_t first;
    char32_t last;
};
#include "base/display_width_table.inc"

template <std::size_t N>
bool contains(const Range (&ranges)[N], char32_t character) {
    const auto* after = std::ranges::upper_bound(ranges, character, {}, &Range::first);
    return after != std::begin(ranges) && character <= std::prev(after)->last;
}

// A character with the combining marks that follow it.
struct Cluster {
    std::string_view text;
    std::size_t width = 0;
};

std::vector<Cluster> clusters_of(std::string_view text) {
    std::vector<Cluster> out;
    while (!text.empty()) {
        const Character character = first_character(text);
        const std::size_t width = character.valid ? display_width(character.code) : 1;
        if (width == 0 && !out.empty())
            out.back().text = {out.back().text.data(), out.back().text.size() + character.length};
        else
            out.push_back({text.substr(0, character.length), width});
        text.remove_prefix(character.length);
    }
    return out;
}

constexpr std::string_view ellipsis = "…";

} // namespace

std::size_t display_width(char32_t character) noexcept {
    if (character < 0x300)
        return 1;
    if (contains(joined, character))
        return 0;
    return contains(wide, character) ? 2 : 1;
}

std::size_t display_width(std::string_view text) noexcept {
    std::size_t width = 0;
    while (!text.empty()) {
        const Character character = first_character(text);
        width += character.valid ? display_width(character.code) : 1;
        text.remove_prefix(character.length);
    }
    return width;
}

std::string shorten_to_width(std::string_view text, std::size_t columns, Shorten how) {
    if (display_width(text) <= columns)
        return std::string(text);
    if (columns == 0)
        return {};
    const std::vector<Cluster> clusters = clusters_of(text);
    const std::size_t kept = columns - 1; // one column for the ellipsis
    const std::size_t for_tail = how == Shorten::middle ? kept / 2 : 0;
    std::string head;
    for (std::size_t used = 0; const Cluster& one : clusters) {
        if (used + one.width > kept - for_tail)
            break;
        used += one.width;
        head += one.text;
    }
    std::string_view tail = text.substr(text.size());
    for (std::size_t at = clusters.size(), used = 0; at-- > 0;) {
        used += clusters[at].width;
        if (used > for_tail)
            break;
        tail = text.substr(static_cast<std::size_t>(clusters[at].text.data() - text.data()));
    }
    return head.append(ellipsis).append(tail);
}

std::string pad_to_width(std::string_view text, std::size_t columns, bool right) {
    const std::size_t width = display_width(text);
    const std::string blanks(columns > width ? columns - width : 0, ' ');
    return right ? blanks + std::string(text) : std::string(text) + blanks;
}

} // namespace holdfast::base
