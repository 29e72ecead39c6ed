#include "keep/front_stop.hpp"

#include "ending/plan.hpp"
#include "keep/front.hpp"
#include "records/paths.hpp"
#include "sys/clock.hpp"
#include "sys/lock_file.hpp"
#include "sys/pidfd.hpp"
#include "sys/proc.hpp"
#include "sys/signals.hpp"

#include <algorithm>
#include <csignal>

namespace holdfast::keep {

namespace {

// Beyond the plan's own time: for the kernel to end what was killed, and for the last words.
constexpr base::Millis margin{2000};
// A front reads its signals within a moment, unless it is stuck.
constexpr base::Millis hears_within{1000};
// So long a keeper tries to kill before it names survivors, and somewhat more.
constexpr base::Millis killing_takes_at_most = ending::default_patience + margin;

base::Millis time_of(const core::StopPlan& plan) {
    base::Millis out{0};
    for (std::size_t at = core::first_stage(plan, core::StopReason::asked); at < plan.stages.size(); ++at)
        out += plan.stages[at].wait;
    return out;
}

// The owner, by a pidfd that was opened before it was asked about again.
std::optional<sys::PidFd> hold_owner(const SlotLocation& entry) {
    auto before = sys::LockFile::look(records::lock_path(entry));
    if (!before || before->owner_pid <= 0)
        return std::nullopt;
    auto process = sys::PidFd::open(before->owner_pid);
    auto after = sys::LockFile::look(records::lock_path(entry));
    if (!process || !after || after->owner_pid != before->owner_pid || after->epoch != before->epoch)
        return std::nullopt;
    return std::move(*process);
}

} // namespace

FrontEnd wait_for_front(const SlotLocation& entry, const FrontPatience& patience) {
    base::Millis time = time_of(patience.plan) + margin;
    if (patience.grace)
        time = std::min(time, *patience.grace);
    sys::Deadline end = sys::Deadline::at(patience.asked_at + time.count());
    auto front = hold_owner(entry);
    if (!front) {
        // Killed by somebody. Its keeper knows, and does the same by the same plan.
        auto left = std::max<std::int64_t>(0, *end.moment() - sys::boottime_ms());
        (void)wait_for(entry, WaitFor::free, base::Millis{left});
        return FrontEnd::gone;
    }
    if (front->wait_ended(end))
        return FrontEnd::gone;
    (void)sys::tell_stop_now(*front);
    (void)front->signal(SIGCONT);
    if (front->wait_ended(sys::Deadline::in(hears_within)))
        return FrontEnd::gone;
    if (sys::is_pending(front->pid(), sys::stop_now_signal()) && !front->ended())
        return FrontEnd::deaf;
    return front->wait_ended(sys::Deadline::in(killing_takes_at_most)) ? FrontEnd::gone : FrontEnd::deaf;
}

} // namespace holdfast::keep
