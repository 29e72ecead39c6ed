// The helper ended by itself: it is started again, or given up.
#include "keep/keeper_parts.hpp"

#include "base/text.hpp"
#include "sys/proc.hpp"
#include "sys/random.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>

namespace holdfast::keep {

using core::StopReason;

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

} // namespace

bool Keeper::wants_restart() const {
    if (ending_.running() || !last_exit_)
        return false;
    return options_.restart == Restart::always ||
           (options_.restart == Restart::on_failure && last_exit_->status != 0);
}

// The helper ended by itself. Either it is started again, or what it left behind is ended.
void Keeper::consider_restart() {
    if (helper_ != 0 || !last_exit_ || start_again_at_ || ending_.running())
        return;
    if (memory_by_cgroup_ && last_exit_->signal == SIGKILL && cgroup_->ran_out_of_memory()) {
        begin_stop(StopReason::memory);
        return;
    }
    if (!wants_restart()) {
        begin_stop(StopReason::command_ended);
        return;
    }
    std::int64_t now = sys::boottime_ms();
    if (now - started_at_ >= options_.backoff.reset_after_held.count())
        backoff_.run_was_good();
    std::uint64_t dice = std::strtoull(sys::random_token().substr(0, 13).c_str(), nullptr, 16);
    auto verdict = backoff_.record(options_.backoff, base::Moment{sys::boottime_ns()},
                                   static_cast<double>(dice) / static_cast<double>(std::uint64_t{1} << 52));
    if (verdict.give_up) {
        control_.send(base::cat("gave-up ", verdict.in_a_row));
        begin_stop(StopReason::command_ended);
        return;
    }
    // What the dead generation left must not meet the new one. Mostly there is nothing: a cgroup.kill costs
    // 10 ms, in which the replacement could have been running.
    if (!tree_.empty())
        kill_old_generation();
    std::int64_t delay =
        std::max<std::int64_t>(0, (verdict.not_before.count() - sys::boottime_ns()) / ns_per_ms);
    control_.send(base::cat("restarting ", ++restarts_, ' ', delay));
    start_again_at_ = now + delay;
}

// KILL was sent when the restart was decided on; a large process takes its time to go, and one that forked in
// that instant has not heard it.
bool Keeper::old_generation_gone() {
    if (tree_.empty()) {
        old_generation_.reset();
        return true;
    }
    if (!old_generation_)
        kill_old_generation();
    else if (sys::boottime_ms() - *start_again_at_ > ending::default_patience.count())
        // Counted from the planned start, not from the crash: during a long pause between restarts nobody
        // repeats KILL.
        begin_stop(StopReason::command_ended); // it names what lives on
    else
        old_generation_->tick();
    return false;
}

void Keeper::kill_old_generation() {
    old_generation_.emplace(ending::subreaper_plan(ending::ask_then_kill({}, true)));
    equip(*old_generation_);
    old_generation_->begin(StopReason::asked_now);
}

void Keeper::equip(ending::Ender& ender) {
    ender.find_by(tree_);
    ender.between_walks([this] { reap(); });
    if (cgroup_ && !tree_.spares_some()) // it would kill those too
        ender.use(&*cgroup_);
}

} // namespace holdfast::keep
