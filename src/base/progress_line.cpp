#include "base/progress_line.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace holdfast::base {

namespace {

constexpr std::size_t widest_bar = 30;
constexpr std::size_t enough_bar = 10;
constexpr std::size_t narrowest_bar = 5;

} // namespace

std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          std::string_view note, std::size_t columns) {
    const std::size_t room = columns > 1 ? columns - 1 : 1;
    done = std::min(done, total);
    // In this order, since done * 100 may be more than a number holds.
    const auto share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0;
    const auto percent = total > 0 ? cat("  ", static_cast<std::uint64_t>(share * 100), " %") : std::string();
    const auto after = cat(note.empty() ? "" : "  ", printable(note));
    std::string bar;
    const auto others = shown_width(what) + shown_width(percent) + 4; // two spaces, two brackets
    if (total > 0 && others + narrowest_bar <= room) {
        // The note gives way before the bar does, but not for one that is longer than need be.
        const auto left = room - others;
        const auto beside = shown_width(after) < left ? left - shown_width(after) : 0;
        const auto width = std::min(left, std::clamp(beside, enough_bar, widest_bar));
        const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
        bar = cat("  [", std::string(filled, '#'), std::string(width - filled, '-'), ']');
    }
    return std::string(cut_to_width(cat(what, bar, percent, after), room));
}

} // namespace holdfast::base
