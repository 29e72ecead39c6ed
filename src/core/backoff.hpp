// How long to wait before the next start of something that failed, and when to stop trying. Pure arithmetic:
// the clock and the dice are the caller's.
//
// The first failure after a good run is answered after `first` (by default at once: a single crash costs no
// waiting), every further one after `initial`, `initial * factor`, ... at most `max`. A run is good, and the
// count starts over, only when readiness has held for `reset_after_held`: a helper that starts well and dies
// a second later is not well.
//
// It gives up at `max_failures`, counted in two ways, whichever is more: failures in a row without a good
// run, and failures within `window` even when runs in between were good. The first ends a loop that is slow,
// the second one that is fast.
#pragma once

#include "base/moment.hpp"

#include "holdfast/result.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::core {

struct BackoffPolicy {
    std::chrono::milliseconds first{0};
    std::chrono::milliseconds initial{100};
    double factor = 2.0;
    std::chrono::milliseconds max{30'000};
    double jitter = 0.2; // the wait is spread evenly over [1 - jitter, 1 + jitter] of itself
    std::chrono::milliseconds reset_after_held{10'000};
    std::uint32_t max_failures = 8; // 0: never gives up
    std::chrono::milliseconds window{120'000};
};

// The most failures that can be remembered, and so the largest `max_failures`.
inline constexpr std::uint32_t most_failures = 64;

// Says which value is off: negative times, a factor below 1, jitter outside 0..1, max below initial.
Result<void> check(const BackoffPolicy& policy);

class Backoff {
public:
    // What to do after a failure.
    struct Verdict {
        bool give_up = false;
        base::Moment not_before{0}; // when to start again, unless it gives up
        std::uint32_t in_a_row = 0; // failures since the last good run, this one included
        std::uint32_t in_window = 0;
    };

    // What record() would say, without recording. `dice` is in [0, 1): 0.5 is the middle of the jitter.
    [[nodiscard]] Verdict judge(const BackoffPolicy& policy, base::Moment now, double dice) const;

    // Counts a failure at `now`.
    Verdict record(const BackoffPolicy& policy, base::Moment now, double dice);

    // Readiness has held: the row is over. The window remembers all the same.
    void run_was_good() noexcept { in_a_row_ = 0; }

    // Somebody who knows better said "again": nothing is remembered.
    void forget() noexcept { *this = Backoff{}; }

    [[nodiscard]] std::uint32_t in_a_row() const noexcept { return in_a_row_; }

    // The wait before the start that follows failure number `in_a_row` (1 is the first), jitter applied.
    static std::chrono::nanoseconds wait_after(const BackoffPolicy& policy, std::uint32_t in_a_row,
                                               double dice);

private:
    std::array<base::Moment, most_failures> times_{}; // a ring of the latest failures
    std::uint32_t count_ = 0;                         // how many of them are set
    std::uint32_t next_ = 0;                          // where the next one goes
    std::uint32_t in_a_row_ = 0;
};

} // namespace holdfast::core
