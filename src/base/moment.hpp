// A point in time as pure code sees it: nanoseconds of one monotonic clock, read by the caller and passed in.
#pragma once

#include <chrono>

namespace holdfast::base {

using Moment = std::chrono::nanoseconds;

// Later than anything: a deadline that never comes.
inline constexpr Moment never = Moment::max();

// A deadline `wait` after `now`, or never when the sum does not fit.
constexpr Moment after(Moment now, std::chrono::nanoseconds wait) {
    return wait >= never - now ? never : now + wait;
}

} // namespace holdfast::base
