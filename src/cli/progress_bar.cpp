#include "cli/progress_bar.hpp"

#include "core/text.hpp"

#include <unistd.h>

#include <algorithm>

namespace holdfast::cli {

ProgressBar::ProgressBar(std::string what, bool wanted)
    : what_(std::move(what))
    , wanted_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void ProgressBar::show(std::uint64_t done, std::uint64_t total, const std::string& note) {
    const auto now = std::chrono::steady_clock::now();
    if (!wanted_ || (drawn_ && now - last_ < std::chrono::milliseconds(100)))
        return;
    last_ = now;
    drawn_ = true;
    std::string line = core::cat("\r\033[K", what_);
    if (total > 0) {
        constexpr std::uint64_t width = 30;
        const auto filled = std::min(width, done * width / total);
        line += "  ";
        for (std::uint64_t i = 0; i < width; ++i)
            line += i < filled ? "█" : "░";
        line += core::cat("  ", std::min<std::uint64_t>(100, done * 100 / total), " %");
    }
    if (!note.empty())
        line += core::cat("  ", note);
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void ProgressBar::clear() {
    if (drawn_)
        (void)!::write(STDERR_FILENO, "\r\033[K", 4);
    drawn_ = false;
}

} // namespace holdfast::cli
