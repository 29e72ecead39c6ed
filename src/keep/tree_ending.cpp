#include "keep/tree_ending.hpp"

#include <csignal>

namespace holdfast::keep {

namespace {
// A process that was just forked by one we killed may have been missed by the walk. It comes home to us when
// its parent dies and SIGCHLD wakes us; this is only how long we wait for that before we walk again.
constexpr std::chrono::milliseconds walk_again{20};
constexpr std::int64_t give_up_after_ms = 10'000;
} // namespace

void TreeEnding::begin(core::StopReason reason) {
    if (auto action = machine_.begin(reason, sys::boottime_ms()))
        carry_out(*action);
}

void TreeEnding::tick() {
    if (auto action = machine_.advance(sys::boottime_ms()))
        carry_out(*action);
    else if (killing_since_)
        carry_out(core::StopAction::kill);
}

void TreeEnding::carry_out(core::StopAction action) {
    switch (action) {
    case core::StopAction::end_of_input:
        break; // the host closed it; the helper sees it by itself
    case core::StopAction::terminate:
        tree_.signal_all(SIGTERM);
        break;
    case core::StopAction::kill:
        if (!killing_since_)
            killing_since_ = sys::boottime_ms();
        if (killed_by_cgroup())
            break;
        // Walk until a walk finds nobody new: a storm forks while we walk, but each of its generations comes
        // home to us, and dead parents fork no more.
        for (int walks = 0; walks < 10'000 && tree_.signal_all(SIGKILL) != 0; ++walks)
            tree_.reap(tell_);
        break;
    }
}

// The kernel reaches every process of a cgroup at once, also those that are being forked. A walk beside that
// would only take the processor from what is dying; it comes when the cgroup is empty (for who had left it),
// or when its time is over.
bool TreeEnding::killed_by_cgroup() {
    if (!cgroup_ || tree_.spares_some()) // it would kill those too
        return false;
    if (!walk_at_) {
        if (!cgroup_->kill())
            return false;
        walk_at_ = sys::Deadline::in(walk_again);
    }
    waits_for_cgroup_ = !walk_at_->passed() && cgroup_->populated();
    return waits_for_cgroup_;
}

sys::Deadline TreeEnding::next() const {
    if (killing_since_)
        return sys::Deadline::in(walk_again);
    if (auto due = machine_.due())
        return sys::Deadline::at(*due);
    return sys::Deadline::never();
}

bool TreeEnding::given_up() const {
    return killing_since_ && sys::boottime_ms() - *killing_since_ > give_up_after_ms;
}

} // namespace holdfast::keep
