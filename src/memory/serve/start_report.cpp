#include "memory/serve/start_report.hpp"

#include "base/printable.hpp"
#include "base/progress_line.hpp"
#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "sys/notify.hpp"
#include "sys/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::int64_t often_enough_ms = 100;
// Each note buys this much: the next one comes long before, unless nothing moves any more.
constexpr const char* more_time = "EXTEND_TIMEOUT_USEC=60000000";

std::string megabytes(std::uint64_t bytes) {
    return cat((bytes + (1U << 19)) >> 20);
}

} // namespace

std::string sentence(const Progress& progress) {
    std::string text(name_of(progress.phase));
    if (progress.phase == Phase::recovering && progress.total >= (1U << 20))
        text += cat(": ", megabytes(progress.done), " of ", megabytes(progress.total), " MB");
    else if (progress.total > 0)
        text += cat(": ", progress.done, " of ", progress.total);
    if (!progress.detail.empty())
        text += cat(progress.total > 0 ? " (" : ": ", progress.detail, progress.total > 0 ? ")" : "");
    return text;
}

StartReport::StartReport(std::string notify_address, bool person)
    : notify_address_(std::move(notify_address))
    , person_(person) {}

StartReport::~StartReport() {
    if (bar_stands_)
        std::fputs("\r\033[K", stderr);
}

bool StartReport::tell(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    const auto now = monotonic_ms();
    const bool news = !told_any_ || progress.phase != last_phase_ || progress.detail != last_detail_ ||
                      (progress.total > 0 && progress.done == progress.total);
    if (!news && now - last_ms_ < often_enough_ms)
        return false;
    told_any_ = true;
    last_ms_ = now;
    last_phase_ = progress.phase;
    last_detail_ = progress.detail;
    tell_manager(progress);
    if (progress.phase == Phase::ready)
        ready_told_ = true;
    if (person_)
        tell_person(progress);
    return true;
}

void StartReport::tell_address(const std::string& address) const {
    if (!address.empty())
        sys::notify_above(notify_address_, cat("HOLDFAST_ADDRESS=", address));
}

void StartReport::tell_manager(const Progress& progress) const {
    if (notify_address_.empty())
        return;
    std::string text = cat("STATUS=", sentence(progress));
    std::ranges::replace(text, '\n', ' ');
    if (progress.phase == Phase::ready)
        text += ready_told_ ? "" : "\nREADY=1";
    else if (progress.phase != Phase::failed && !ready_told_)
        text += cat("\nHOLDFAST_PROGRESS=", progress.done, "/", progress.total, "\n", more_time);
    sys::notify_above(notify_address_, text);
}

void StartReport::tell_person(const Progress& progress) {
    // The last word stays and may take the lines that it needs; what came before is rewritten in place.
    const bool over = progress.phase == Phase::ready || progress.phase == Phase::failed;
    bar_stands_ = !over;
    const auto line =
        over ? cat("\r\033[Kmemory: ", base::printable(sentence(progress)), '\n')
             : cat("\r\033[K", base::progress_line("memory", progress.done, progress.total,
                                                   sentence(progress), sys::terminal_columns(STDERR_FILENO)));
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
}

} // namespace holdfast::memory
