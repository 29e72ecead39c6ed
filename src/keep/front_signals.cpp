// Signals: the stop plan, job control, and what is passed on to the helper.
#include "keep/front_parts.hpp"

#include "core/text.hpp"
#include "sys/proc.hpp"

#include <algorithm>
#include <csignal>

namespace holdfast::keep {

using core::StopReason;

void Front::hear_signals() {
    std::vector<sys::SignalQueue::Arrived> all;
    while (auto arrived = signals_.next())
        all.push_back(*arrived);
    // The kernel hands them over by their numbers. "At once" was said before the TERM that follows it, and
    // must not be heard after.
    std::ranges::stable_partition(all, [](const auto& one) { return one.signal == sys::stop_now_signal(); });
    for (const auto& arrived : all)
        hear_signal(arrived.signal, arrived.from_kernel && options_.keeper.join_front_group);
    // Before the keeper's death too: as PID 1 of a container we get the orphans of everybody who came in from
    // outside.
    tree_.reap([this](const Tree::Ended& ended) { note_reaped(ended); });
}

// We were continued after a stop that the terminal sent to both of us. Whoever continued our whole group (fg)
// has continued the helper, too; and if it is stopped all the same, a further Ctrl-Z has come, to both of us
// again. A CONT from us would undo that one: the helper would run on behind a shell that takes it for
// stopped.
bool Front::helper_went_its_way() const {
    auto stat = helper_ != 0 ? sys::read_stat(helper_) : std::nullopt;
    return !stat || stat->state != 'T' || signals_.waiting(SIGTSTP);
}

// `helper_has_it`: sharing a process group, it has got what the terminal sent by itself.
void Front::hear_signal(int signal, bool helper_has_it) {
    switch (signal) {
    case SIGCHLD:
        break;
    case SIGWINCH:
        if (pty_)
            pty_->copy_window_size();
        else if (control_ && !helper_has_it)
            control_->send(core::cat("signal ", signal));
        break;
    case SIGTSTP:
        if (control_ && !helper_has_it)
            control_->send(core::cat("signal ", SIGTSTP));
        sys::stop_self();
        if (control_ && !(helper_has_it && helper_went_its_way()))
            control_->send(core::cat("signal ", SIGCONT));
        break;
    case SIGINT:
    case SIGQUIT:
        // Ctrl-C is the helper's to answer: a shell or an interpreter lives on. kill -INT is for all of
        // us.
        if (helper_has_it)
            break;
        [[fallthrough]];
    case SIGHUP:
        // The helper hears what we heard, and has the time of the plan's first stage to act on it.
        if (control_ && !helper_has_it)
            control_->send(core::cat("signal ", signal));
        tell_stop(StopReason::host_gone);
        break;
    case SIGTERM:
        tell_stop(StopReason::asked);
        break; // the plan sends TERM itself, once, to the whole tree
    case SIGCONT:
        break;
    default:
        if (signal == sys::stop_now_signal()) {
            tell_stop(StopReason::asked_now);
            break;
        }
        if (control_)
            control_->send(core::cat("signal ", signal));
    }
}

} // namespace holdfast::keep
