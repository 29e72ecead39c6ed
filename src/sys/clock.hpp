// Clocks. Everything that is compared uses boot time: it moves while the machine sleeps, and nobody sets it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace holdfast::sys {

std::int64_t boottime_ms() noexcept;
std::int64_t boottime_ns() noexcept;
std::int64_t unix_ms() noexcept; // for people only; never compared

// Lets so much time pass, and nothing else. Only for measuring a rate, where time itself is what is waited
// for: the kernel tells of everything else.
void pass_time(std::chrono::milliseconds duration) noexcept;

// A moment after which waiting ends; none means never.
class Deadline {
public:
    Deadline() = default;
    static Deadline never() { return {}; }
    // A century at most: "as long as can be" must not wrap around into the past.
    static Deadline in(std::chrono::milliseconds duration) {
        constexpr std::chrono::milliseconds century = std::chrono::hours(24) * 36525;
        return at(boottime_ms() + std::clamp(duration, -century, century).count());
    }
    static Deadline at(std::int64_t boottime) {
        Deadline out;
        out.at_ = boottime;
        return out;
    }
    [[nodiscard]] bool passed() const { return at_ && boottime_ms() >= *at_; }
    // For poll(2): -1 for never, otherwise rounded up so that a wake-up is never early.
    [[nodiscard]] int poll_timeout() const;
    [[nodiscard]] std::optional<std::int64_t> moment() const { return at_; }
    [[nodiscard]] Deadline earlier(const Deadline& other) const;

private:
    std::optional<std::int64_t> at_;
};

} // namespace holdfast::sys
