#include "cli/memory/progress_bar.hpp"

#include "base/progress_line.hpp"
#include "base/text.hpp"
#include "sys/terminal.hpp"

#include <unistd.h>

namespace holdfast::cli {

ProgressBar::ProgressBar(std::string what, bool wanted)
    : what_(std::move(what))
    , wanted_(wanted && sys::shows_moving_lines(STDERR_FILENO)) {}

void ProgressBar::show(std::uint64_t done, std::uint64_t total, const std::string& note) {
    const auto now = std::chrono::steady_clock::now();
    if (!wanted_ || (drawn_ && now - last_ < std::chrono::milliseconds(100)))
        return;
    last_ = now;
    drawn_ = true;
    const auto line = base::cat(
        "\r\033[K", base::progress_line(what_, done, total, note, sys::terminal_columns(STDERR_FILENO)));
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void ProgressBar::clear() {
    if (drawn_)
        (void)!::write(STDERR_FILENO, "\r\033[K", 4);
    drawn_ = false;
}

} // namespace holdfast::cli
