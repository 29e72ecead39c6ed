// A point in time that bounds a wait. Every wait of the harness takes one: a test that hangs is a test that
// says nothing.
#pragma once

#include <algorithm>
#include <chrono>

namespace holdfast::harness {

class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    static Deadline in(std::chrono::nanoseconds span) { return Deadline(Clock::now() + span); }

    [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
    [[nodiscard]] Clock::time_point at() const { return at_; }

    // For poll(2): rounded up, so that a poll that returned 0 means the deadline has passed; never negative.
    [[nodiscard]] int remaining_ms() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
        return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000));
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
