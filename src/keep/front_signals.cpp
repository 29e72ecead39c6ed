// Signals: the stop plan, job control, and what is passed on to the helper.
#include "keep/front_parts.hpp"

#include "base/text.hpp"
#include "core/front_signals.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace holdfast::keep {

using core::SignalDeed;
using core::SignalUse;
using core::StopReason;

namespace {

// So many are taken from the queue before anything else is heard.
constexpr std::size_t signals_at_once = 256;

} // namespace

void Front::hear_signals() {
    std::vector<sys::SignalQueue::Arrived> all;
    while (all.size() < signals_at_once) {
        auto arrived = signals_.next();
        if (!arrived)
            break;
        all.push_back(*arrived);
    }
    // The kernel hands them over by their numbers. "At once" was said before the TERM that follows it, and
    // must not be heard after.
    std::ranges::stable_partition(all, sys::says_stop_now);
    for (auto at = all.begin(); at != all.end(); ++at) {
        // The later of a stop and a CONT is what counts: the kernel drops the other when both are waiting.
        auto followed_by = [&](SignalUse use) {
            return std::any_of(at + 1, all.end(),
                               [use](const auto& later) { return core::use_of(later.signal) == use; });
        };
        const SignalUse use = core::use_of(at->signal);
        const bool undone =
            (use == SignalUse::pause && (followed_by(SignalUse::resume) || signals_.waiting(SIGCONT))) ||
            (use == SignalUse::resume && followed_by(SignalUse::pause));
        hear_signal(*at, undone);
    }
    // Before the keeper's death too: as PID 1 of a container we get the orphans of everybody who came in from
    // outside.
    tree_.reap([this](const Tree::Ended& ended) { note_reaped(ended); });
}

void Front::forward(int signal) {
    tell_keeper(base::cat("signal ", signal));
}

// Each once, and a value that was sent along with it.
void Front::forward(const sys::SignalQueue::Arrived& arrived) {
    if (arrived.value)
        tell_keeper(base::cat("signal ", arrived.signal, ' ', *arrived.value));
    else
        forward(arrived.signal);
}

// We were continued, and so was the helper, if our whole group was (fg) and it shares that. If it is stopped
// all the same, a further Ctrl-Z has come, to both of us again. A CONT from us would undo that one: the
// helper would run on behind a shell that takes it for stopped.
bool Front::helper_went_its_way() const {
    auto stat = helper_ != 0 ? sys::read_stat(helper_) : std::nullopt;
    if (!stat || stat->state != 'T')
        return true;
    return signals_.waiting(SIGTSTP) || signals_.waiting(SIGTTIN) || signals_.waiting(SIGTTOU);
}

// `undone`: by another signal that has come since.
void Front::hear_signal(const sys::SignalQueue::Arrived& arrived, bool undone) {
    if (sys::says_stop_now(arrived)) {
        asked_ = true;
        tell_stop(StopReason::asked_now);
        return;
    }
    switch (core::deed_for(arrived.signal, {.from_kernel = arrived.from_kernel,
                                            .from_self = arrived.sender == ::getpid(),
                                            .shares_group = shares_group_,
                                            .leads_session = ::getsid(0) == ::getpid(),
                                            .own_terminal = pty_.has_value(),
                                            .can_be_resumed = sys::can_be_resumed()})) {
    case SignalDeed::nothing:
        break;
    case SignalDeed::begin_stop:
        asked_ = true;
        tell_stop(StopReason::asked); // the plan sends TERM itself, once, to the whole tree
        break;
    case SignalDeed::forward:
        forward(arrived);
        break;
    case SignalDeed::stop_both:
        forward(arrived);
        [[fallthrough]];
    case SignalDeed::stop_self:
        if (!undone)
            sys::stop_self(); // the CONT that ends it waits in the queue then
        break;
    case SignalDeed::resume_command:
        forward(SIGCONT);
        break;
    case SignalDeed::resume_both:
        if (!undone && !asked_ && !(shares_group_ && helper_went_its_way()))
            forward(SIGCONT);
        break;
    case SignalDeed::copy_size:
        // The kernel tells the command of a size that is new, and of none else.
        if (!pty_->copy_window_size() && !arrived.from_kernel)
            forward(arrived);
        break;
    }
}

} // namespace holdfast::keep
