#include "sys/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace holdfast::sys {

namespace {
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// The kernel wants a plain pointer; it only compares the word behind it.
std::uint32_t* address_of(const std::atomic<std::uint32_t>& word) {
    return reinterpret_cast<std::uint32_t*>(const_cast<std::atomic<std::uint32_t>*>(&word));
}
} // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<std::chrono::nanoseconds> at_most) noexcept {
    timespec span{};
    if (at_most) {
        const auto left = at_most->count() < 0 ? 0 : at_most->count();
        span.tv_sec = static_cast<time_t>(left / 1'000'000'000);
        span.tv_nsec = static_cast<long>(left % 1'000'000'000);
    }
    ::syscall(SYS_futex, address_of(word), FUTEX_WAIT_PRIVATE, expected, at_most ? &span : nullptr, nullptr,
              0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    ::syscall(SYS_futex, address_of(word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace holdfast::sys
