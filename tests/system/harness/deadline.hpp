// A point in time that bounds a wait. Every wait of the harness takes one: a test that hangs is a test that
// says nothing.
#pragma once

#include "support/patience.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace holdfast::harness {

class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    // For what must come: `ample` is enough on a quiet machine, and the wait lasts test::stretch times as
    // long.
    static Deadline in(std::chrono::nanoseconds ample) { return exactly(test::patient(ample)); }
    // For what must not come, where a longer wait only makes the test longer.
    static Deadline exactly(std::chrono::nanoseconds span) { return Deadline(Clock::now() + span); }

    [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
    [[nodiscard]] Clock::time_point at() const { return at_; }

    // For poll(2): rounded up, so that a poll that returned 0 means the deadline has passed; never negative.
    [[nodiscard]] int remaining_ms() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
        return static_cast<int>(std::clamp<long long>(left, 0, std::numeric_limits<int>::max()));
    }
    [[nodiscard]] std::chrono::nanoseconds remaining() const {
        return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(at_ - Clock::now()));
    }

private:
    explicit Deadline(Clock::time_point at)
        : at_(at) {}
    Clock::time_point at_;
};

} // namespace holdfast::harness
