// The limits of the helper: its life, its idle time, its memory.
#include "keep/keeper_parts.hpp"

#include "keep/usage.hpp"

#include <algorithm>

namespace holdfast::keep {

using core::StopReason;

namespace {

constexpr std::int64_t memory_look_ms = 250;
constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::uint64_t idle_cpu_share = 5000; // one 5000th of the idle time: 120 ms in ten minutes

} // namespace

void Keeper::watch_limits() {
    std::int64_t now = sys::boottime_ms();
    if (options_.max_life.count() && now - born_ >= options_.max_life.count())
        begin_stop(StopReason::max_life);
    bool by_watching = options_.idle.count() || (options_.memory && !memory_by_cgroup_);
    if (!by_watching || now < next_measure_)
        return;
    std::int64_t pause = memory_look_ms;
    if (options_.idle.count())
        pause = std::clamp<std::int64_t>(options_.idle.count() / 4, 10,
                                         options_.memory && !memory_by_cgroup_ ? memory_look_ms : 1000);
    next_measure_ = now + pause;
    Usage usage = measure_usage(tree_, options_.idle.count() != 0);
    // What is said on sockets does not show in the I/O counters; work does. A timer that wakes up now and
    // then is no work: it stays below this share of the time.
    const auto work_ns = static_cast<std::uint64_t>(options_.idle.count()) * ns_per_ms / idle_cpu_share;
    if (usage.io_bytes != last_io_ || usage.cpu_ns < last_cpu_ns_ || usage.cpu_ns - last_cpu_ns_ > work_ns) {
        last_io_ = usage.io_bytes;
        last_cpu_ns_ = usage.cpu_ns;
        moved_at_ = now;
    }
    if (options_.idle.count() && now - moved_at_ >= options_.idle.count())
        begin_stop(StopReason::idle);
    if (options_.memory && !memory_by_cgroup_ && usage.rss_bytes > options_.memory)
        begin_stop(StopReason::memory);
}

} // namespace holdfast::keep
