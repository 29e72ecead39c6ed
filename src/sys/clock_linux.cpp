#include "sys/clock.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

namespace holdfast::sys {

std::int64_t boottime_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::int64_t boottime_ms() noexcept {
    return boottime_ns() / 1'000'000;
}

std::int64_t unix_ms() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

void pass_time(std::chrono::milliseconds duration) noexcept {
    const std::int64_t end = boottime_ns() + duration.count() * 1'000'000;
    const timespec until{.tv_sec = end / 1'000'000'000, .tv_nsec = end % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

int Deadline::poll_timeout() const {
    if (!at_)
        return -1;
    if (*at_ <= 0 ||
        *at_ / 2 > boottime_ms() + INT_MAX) // also before multiplying: the moment may be anything
        return *at_ <= 0 ? 0 : INT_MAX;
    std::int64_t left_ns = *at_ * 1'000'000 - boottime_ns();
    std::int64_t left_ms = (std::max<std::int64_t>(left_ns, 0) + 999'999) / 1'000'000;
    return static_cast<int>(std::min<std::int64_t>(left_ms, INT_MAX));
}

Deadline Deadline::earlier(const Deadline& other) const {
    if (!at_)
        return other;
    if (!other.at_)
        return *this;
    return *at_ <= *other.at_ ? *this : other;
}

} // namespace holdfast::sys
