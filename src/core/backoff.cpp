#include "core/backoff.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast::core {

Result<void> check(const BackoffPolicy& policy) {
    using std::chrono::milliseconds;
    const auto off = [](const char* what) { return fail(Errc::invalid_argument, what); };
    if (policy.first < milliseconds(0) || policy.initial < milliseconds(0) ||
        policy.reset_after_held < milliseconds(0) || policy.window < milliseconds(0))
        return off("backoff: a time is negative");
    if (!(policy.factor >= 1.0 && policy.factor <= 1000.0))
        return off("backoff: the factor must be between 1 and 1000");
    if (policy.max < policy.initial)
        return off("backoff: the largest wait is below the initial one");
    if (!(policy.jitter >= 0.0 && policy.jitter <= 1.0))
        return off("backoff: jitter must be a fraction between 0 and 1");
    if (policy.max_failures > most_failures)
        return off("backoff: at most 64 failures can be counted; 0 means that it never gives up");
    return {};
}

std::chrono::nanoseconds Backoff::wait_after(const BackoffPolicy& policy, std::uint32_t in_a_row,
                                             double dice) {
    using std::chrono::nanoseconds;
    double wait = static_cast<double>(nanoseconds(policy.first).count());
    if (in_a_row > 1) {
        const auto most = static_cast<double>(nanoseconds(policy.max).count());
        const auto initial = static_cast<double>(nanoseconds(policy.initial).count());
        // The power may be infinite, which the cap takes care of; nothing times infinity is no number.
        wait = initial > 0 ? std::min(initial * std::pow(policy.factor, in_a_row - 2.0), most) : 0;
    }
    const double spread = 1.0 + policy.jitter * (2.0 * std::clamp(dice, 0.0, 1.0) - 1.0);
    // Below 2^62, so that the conversion is defined and a deadline can be made of it.
    return nanoseconds(static_cast<nanoseconds::rep>(std::min(wait * spread, 4.6e18)));
}

Backoff::Verdict Backoff::judge(const BackoffPolicy& policy, base::Moment now, double dice) const {
    Verdict verdict;
    verdict.in_a_row = in_a_row_ == UINT32_MAX ? in_a_row_ : in_a_row_ + 1;
    verdict.in_window = 1;
    for (std::uint32_t i = 0; i < count_; ++i)
        if (now - times_[i] < policy.window)
            ++verdict.in_window;
    verdict.give_up =
        policy.max_failures != 0 && std::max(verdict.in_a_row, verdict.in_window) >= policy.max_failures;
    verdict.not_before = base::after(now, wait_after(policy, verdict.in_a_row, dice));
    return verdict;
}

Backoff::Verdict Backoff::record(const BackoffPolicy& policy, base::Moment now, double dice) {
    const Verdict verdict = judge(policy, now, dice);
    in_a_row_ = verdict.in_a_row;
    times_[next_] = now;
    next_ = (next_ + 1) % most_failures;
    count_ = std::min(count_ + 1, most_failures);
    return verdict;
}

} // namespace holdfast::core
