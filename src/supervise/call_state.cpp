#include "supervise/call_state.hpp"

#include "supervise/loop.hpp"
#include "sys/futex.hpp"

#include <utility>

namespace holdfast::supervise {

void CallState::finish(Result<Reply> result) {
    outcome_ = std::move(result);
    done_.store(1, std::memory_order_release);
    sys::futex_wake_all(done_);
}

void CallState::finish_elsewhere() {
    done_.store(2, std::memory_order_release);
    sys::futex_wake_all(done_);
}

bool CallState::wait_until(base::Moment due) const noexcept {
    while (!done()) {
        std::optional<std::chrono::nanoseconds> left;
        if (due != base::never) {
            left = due - now_moment();
            if (*left <= std::chrono::nanoseconds(0))
                return done();
        }
        sys::futex_wait(done_, 0, left);
    }
    return true;
}

Result<Reply> CallState::take() {
    std::uint32_t expected = 1;
    if (!done_.compare_exchange_strong(expected, 2, std::memory_order_acq_rel))
        return fail(Errc::closed, "the answer went to the callback, or was taken already");
    return std::move(*outcome_);
}

} // namespace holdfast::supervise
