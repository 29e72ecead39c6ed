#include "base/text.hpp"
#include "core/front_signals.hpp"
#include "holdfast/parent_watch.hpp"
#include "keep/front_parts.hpp"
#include "keep/keeper.hpp"
#include "slot/blocked.hpp"
#include "slot/ownership.hpp"
#include "sys/cgroup.hpp"
#include "sys/fork.hpp"
#include "sys/free_numbers.hpp"
#include "sys/proc.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::keep {

using core::StopReason;

namespace {

// Before this age a front does not watch its lock file: the watch costs milliseconds to close (see
// watch_fd()).
constexpr std::int64_t watch_slot_after_ms = 1000;
constexpr std::int64_t check_slot_every_ms = 5000; // where no watch can be had
constexpr std::int64_t unread_input_look_ms = 100;
// Beyond the plan's own time: a keeper kills for 10 s before it names survivors.
constexpr std::int64_t keeper_margin_ms = 15'000;

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

Result<void> Front::start_keeper() {
    auto pair = Control::make_pair();
    if (!pair)
        return std::unexpected(pair.error());
    auto notify = sys::NotifySocket::open();
    if (!notify)
        return std::unexpected(notify.error());
    notify_ = std::move(*notify);
    if (options_.pty) {
        auto pty = Pty::open();
        if (!pty)
            return std::unexpected(pty.error());
        pty_.emplace(std::move(*pty));
    }

    sys::ForkSpec spec;
    // Numbers that the keeper and the tree find their descriptors at.
    auto first = sys::free_numbers(first_life_number, most_given_descriptors);
    if (!first)
        return std::unexpected(first.error());
    int number = *first;
    auto give = [&](int fd) {
        spec.fds.emplace_back(fd, number);
        return number++;
    };
    KeeperOptions& keeper = options_.keeper;
    keeper.id = entry_.id();
    keeper.events = events_.directory();
    keeper.label = entry_.facts().label;
    if (const int life = entry_.ownership().life_fd(); life >= 0) // an entry that is listed
        keeper.life_fds.push_back(give(life));
    if (slot_) { // a daemon that is spared must not keep the slot shut
        const int life = give(slot_->life_fd());
        if (keeper.spare.empty())
            keeper.life_fds.push_back(life);
        else
            keeper.own_life_fd = life;
    }
    keeper.control_fd = give(pair->second.fd());
    if (options_.host)
        keeper.host_fd = give(options_.host->fd());
    if (pty_)
        keeper.terminal_fd = give(pty_->slave());
    keeper.is_fork = true;
    keeper.front_group = ::getpgrp();
    keeper.join_front_group = !pty_ && ::isatty(STDIN_FILENO) == 1;
    for (char** variable = environ; *variable; ++variable)
        // The second is of our host, and was for us: the helper's parent is the keeper.
        if (!std::string_view(*variable).starts_with("NOTIFY_SOCKET=") &&
            !std::string_view(*variable).starts_with(base::cat(parent_variable, '=')))
            spec.env.emplace_back(*variable);
    spec.env.push_back("NOTIFY_SOCKET=" + notify_->address());
    spec.env.push_back("HOLDFAST_ID=" + entry_.id());
    // A fork of this program, and no exec of it: that would cost the helper a third of its time to start.
    auto started = sys::fork_worker(spec, [&keeper] { return run_keeper(keeper); });
    if (!started)
        return std::unexpected(started.error());
    keeper_ = std::move(*started);
    control_ = std::move(pair->first);
    tree_.leave_out(keeper_->pid());
    if (pty_)
        pty_->close_slave();
    return {};
}

void Front::tell_keeper() {
    while (control_ && !unsent_.empty()) {
        const Control::Sent sent = control_->offer(unsent_.front());
        if (sent == Control::Sent::full)
            return;
        unsent_.pop_front();
    }
}

void Front::tell_stop(StopReason reason) {
    stop_told_ = true;
    if (keeper_dead_) {
        ending_.begin(reason);
        return;
    }
    unsent_.push_front(base::cat("stop ", core::name_of(reason))); // whatever else waits
    tell_keeper();
    sys::continue_stopped(*keeper_);
    if (!keeper_due_) {
        keeper_due_ = sys::boottime_ms() + keeper_margin_ms;
        for (const core::StopStage& stage : options_.keeper.plan.stages)
            *keeper_due_ += stage.wait.count();
    }
}

// A keeper that was told and is stopped again will never end anything: without it the tree is ours.
void Front::look_after_keeper() {
    if (keeper_dead_ || !keeper_due_ || sys::boottime_ms() < *keeper_due_)
        return;
    if (sys::is_stopped(keeper_->pid())) // our child, not reaped: its number is its own
        (void)keeper_->signal(SIGKILL);
    keeper_due_ = sys::boottime_ms() + keeper_margin_ms;
}

void Front::keeper_is_gone() {
    control_.reset();
    keeper_dead_ = true;
    (void)keeper_->wait_ended(sys::Deadline::in(std::chrono::milliseconds(1000)));
    if (!keeper_done_ && result_.survivors.empty() && !result_.error) {
        // Killed. Its children came home to us: we are a subreaper too.
        result_.reason = StopReason::keeper_gone;
        log("stopping", "keeper_gone");
        set_phase(Phase::draining);
        ending_.begin(StopReason::keeper_gone);
    }
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
    if (input_closed_since_ && options_.watch_input)
        next = next.earlier(sys::Deadline::at(sys::boottime_ms() + unread_input_look_ms));
    if (pty_ && pty_->input_ended() && options_.watch_input)
        next = next.earlier(
            sys::Deadline::at(pty_->input_moved_at() + options_.keeper.plan.stages.front().wait.count()));
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
        bool look_at_input = options_.watch_input && !pty_ && !input_closed_since_;
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
            {.fd = options_.host && !host_gone_told_ ? options_.host->fd() : -1,
             .events = POLLIN,
             .revents = 0},
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
        if ((fds[3].revents || input_closed_since_) && options_.watch_input)
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
        (void)sys::Cgroup::clear_left_behind(entry_.facts().cgroup_place, entry_.id(), spared);
    }
    if (pty_)
        finish_output();
    if (!result_.survivors.empty())
        entry_.leave_behind();
    return std::move(result_);
}

FrontResult run_front(FrontOptions options, registry::Entry& entry, Ownership* slot,
                      const registry::EventLog& events) {
    FrontResult failed;
    std::vector<int> heard = core::signals_of_use();
    heard.push_back(SIGCHLD);
    // Also those that we were to ignore: the command ignores them as well, unless it has a use for them.
    auto signals = sys::SignalQueue::of(heard, sys::SignalQueue::Ignored::are_heard);
    auto tree = Tree::below_this_process();
    auto spare = SpareList::compile(options.keeper.spare);
    if (!signals || !tree || !spare) {
        failed.error = !signals ? signals.error() : !tree ? tree.error() : spare.error();
        return failed;
    }
    tree->spare(std::move(*spare));
    sys::ignore_signal(SIGPIPE);
    // Signals wait in the queue from here on, so that none ends us with the file still there.
    std::optional<slot::PidFile> pid_file;
    if (options.pid_file) {
        options.keeper.pid_file = options.pid_file->path;
        options.keeper.front = ::getpid();
        auto written = slot::PidFile::write(std::move(*options.pid_file));
        if (!written) {
            failed.error = written.error();
            return failed;
        }
        pid_file.emplace(std::move(*written));
    }
    return Front(std::move(options), entry, slot, events, std::move(*tree), std::move(*signals)).run();
}

} // namespace holdfast::keep
