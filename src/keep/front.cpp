// The front's loop, its watch over the slot, and its result.
#include "keep/front_parts.hpp"

#include "base/text.hpp"
#include "core/front_signals.hpp"
#include "ending/by_cgroup.hpp"
#include "slot/blocked.hpp"
#include "slot/ownership.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace holdfast::keep {

using core::StopReason;

namespace {

// Before this age a front does not watch its lock file: the watch costs milliseconds to close (see
// watch_fd()).
constexpr std::int64_t watch_slot_after_ms = 1000;
constexpr std::int64_t check_slot_every_ms = 5000; // where no watch can be had
constexpr std::int64_t unread_input_look_ms = 100;

} // namespace

void Front::log(std::string type, std::string reason, std::optional<int> status) {
    events_.append({.unix_ms = 0,
                    .type = std::move(type),
                    .id = entry_.id(),
                    .label = entry_.facts().label,
                    .pid = helper_,
                    .reason = std::move(reason),
                    .status = status});
}

void Front::note_reaped(const Tree::Ended& ended) {
    if (keeper_dead_ && helper_ != 0 && ended.pid == helper_) {
        result_.status = ended.exit.status;
        log(ended.exit.signal ? "killed" : "exited",
            result_.reason ? std::string(core::name_of(*result_.reason)) : "", result_.status);
        helper_ = 0;
    }
}

void Front::check_slot() {
    if (!slot_ || sys::boottime_ms() < next_slot_check_)
        return;
    next_slot_check_ = sys::boottime_ms() + check_slot_every_ms;
    if (auto mine = slot_->still_mine(); !mine && mine.error().code == Errc::lost && !stop_told_) {
        log("stopping", "slot_lost");
        tell_stop(StopReason::slot_lost);
    }
}

sys::Deadline Front::next_wake() const {
    sys::Deadline next = ending_.next();
    if (keeper_due_ && !keeper_dead_)
        next = next.earlier(sys::Deadline::at(*keeper_due_));
    if (slot_)
        next = next.earlier(sys::Deadline::at(std::max(next_slot_check_, born_ + watch_slot_after_ms)));
    if (input_closed_since_ && watch_input_)
        next = next.earlier(sys::Deadline::at(sys::boottime_ms() + unread_input_look_ms));
    if (pty_ && pty_->input_ended() && watch_input_)
        next = next.earlier(
            sys::Deadline::at(pty_->input_moved_at() + options_.keep.plan.stages.front().wait.count()));
    return next;
}

FrontResult Front::run() {
    if (auto ok = start_keeper(); !ok) {
        result_.error = ok.error();
        return result_;
    }
    // The host must hear end-of-file from the helper, not from us.
    if (!pty_) {
        sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
        ::dup2(null.get(), STDOUT_FILENO);
    }

    for (;;) {
        bool old_enough = sys::boottime_ms() - born_ >= watch_slot_after_ms;
        int slot_watch = slot_ && old_enough ? slot_->watch_fd() : -1;
        bool look_at_input = watch_input_ && !pty_ && !input_closed_since_;
        const Pty::Polled relayed = pty_ ? pty_->wishes() : Pty::Polled{{{-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}}};
        std::array<pollfd, 9> fds{{
            {.fd = signals_.fd(), .events = POLLIN, .revents = 0},
            {.fd = control_ ? control_->fd() : -1,
             .events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT),
             .revents = 0},
            {.fd = notify_->fd(), .events = POLLIN, .revents = 0},
            {.fd = look_at_input ? STDIN_FILENO : -1,
             .events = POLLRDHUP,
             .revents = 0}, // hang-up, of a socket also half of one
            {.fd = slot_watch, .events = POLLIN, .revents = 0},
            relayed[0],
            relayed[1],
            relayed[2],
            {.fd = host_ && !host_gone_told_ ? host_->fd() : -1, .events = POLLIN, .revents = 0},
        }};
        ::poll(fds.data(), fds.size(), next_wake().poll_timeout());
        if (fds[2].revents)
            hear_notifications();
        tell_keeper();
        hear_signals();
        // The keeper sees it by itself, unless somebody has stopped it.
        if (fds[8].revents) {
            host_gone_told_ = true;
            tell_stop(StopReason::host_gone);
        }
        look_after_keeper();
        if (pty_)
            pty_->relay({fds[5], fds[6], fds[7]});
        hear_control();
        if (pty_)
            hear_terminal();
        if ((fds[3].revents || input_closed_since_) && watch_input_)
            hear_input();
        if (fds[4].revents)
            next_slot_check_ = 0;
        if (old_enough)
            check_slot();
        if (!keeper_dead_)
            continue;
        if (ending_.running()) {
            ending_.tick();
            hear_signals();
        }
        if (!ending_.running() || tree_.empty())
            break;
        if (ending_.given_up()) {
            for (const auto& [pid, command] : tree_.survivors())
                result_.survivors.push_back(slot::leftovers_for_people({{.pid = pid, .command = command}}));
            break;
        }
    }
    // Reaped by a keeper that was killed before it could say so.
    if (helper_ != 0 && result_.survivors.empty() && !result_.error)
        log("exited", result_.reason ? std::string(core::name_of(*result_.reason)) : "");
    // Removing its cgroup was the keeper's to do. Asked of the kernel and not of the record: it may have died
    // before it could say that it made one, or between its last word and the removal.
    if (result_.survivors.empty()) {
        std::function<bool(pid_t)> spared;
        if (tree_.spares_some())
            spared = [this](pid_t pid) { return tree_.is_spared(pid); };
        (void)ending::clear_cgroup(entry_.facts().cgroup_place, entry_.id(), spared);
    }
    if (pty_)
        finish_output();
    if (!result_.survivors.empty())
        entry_.leave_behind();
    return std::move(result_);
}

FrontResult run_front(const FrontOptions& options, FrontResources with) {
    FrontResult failed;
    std::vector<int> heard = core::signals_of_use();
    heard.push_back(SIGCHLD);
    // Also those that we were to ignore: the command ignores them as well, unless it has a use for them.
    auto signals = sys::SignalQueue::of(heard, sys::SignalQueue::Ignored::are_heard);
    auto tree = Tree::below_this_process();
    auto spare = ending::SpareList::compile(options.keep.spare);
    if (!signals || !tree || !spare) {
        failed.error = !signals ? signals.error() : !tree ? tree.error() : spare.error();
        return failed;
    }
    tree->spare(std::move(*spare));
    sys::ignore_signal(SIGPIPE);
    // Signals wait in the queue from here on, so that none ends us with the file still there.
    std::optional<slot::PidFile> pid_file;
    if (with.pid_file) {
        auto written = slot::PidFile::write(*with.pid_file);
        if (!written) {
            failed.error = written.error();
            return failed;
        }
        pid_file.emplace(std::move(*written));
    }
    return Front(options, std::move(with), std::move(*tree), std::move(*signals)).run();
}

} // namespace holdfast::keep
