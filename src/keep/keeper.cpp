#include "keep/keeper.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "core/front_signals.hpp"
#include "keep/keeper_parts.hpp"
#include "slot/pid_file.hpp"
#include "sys/command_line.hpp"
#include "sys/proc.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast::keep {

using core::StopReason;

namespace {

constexpr int exit_usage = 64; // as docs/exit-codes.md has it
constexpr std::chrono::milliseconds look_at_old_generation{20};

} // namespace

void Keeper::begin_stop(StopReason reason) {
    bool first = !ending_.running();
    start_again_at_.reset();
    ending_.begin(reason);
    if (first)
        tell(base::cat("stopping ", core::name_of(reason)),
             {.unix_ms = 0,
              .type = reason == StopReason::command_ended ? "" : "stopping",
              .id = {},
              .label = {},
              .pid = helper_,
              .reason = std::string(core::name_of(reason)),
              .status = {}});
}

sys::Deadline Keeper::next_wake() const {
    sys::Deadline next = ending_.next();
    if (start_again_at_) // SIGCHLD wakes us when the old generation has gone; this is for what came home
                         // meanwhile
        next =
            next.earlier(sys::boottime_ms() < *start_again_at_ ? sys::Deadline::at(*start_again_at_)
                                                               : sys::Deadline::in(look_at_old_generation));
    if (log_)
        next = next.earlier(log_->next());
    if (ending_.running())
        return next;
    if (options_.max_life.count())
        next = next.earlier(sys::Deadline::at(born_ + options_.max_life.count()));
    if (options_.idle.count() || (options_.memory && !memory_by_cgroup_))
        next = next.earlier(sys::Deadline::at(next_measure_));
    return next;
}

// What a front that was killed could not do. Before we end and life comes free, so that what stands there is
// never a successor's.
void Keeper::clear_after_front() {
    if (options_.pid_file.empty())
        return;
    hear_control(); // it may have died while we were busy
    if (!control_open_)
        slot::remove_pid_file_of(options_.pid_file, options_.front);
}

int Keeper::run() {
    if (!options_.log.empty()) {
        auto log = LogCopy::open(options_.log, options_.id);
        if (!log) {
            control_.send(base::cat("refused ", log.error().message));
            return 1;
        }
        log_ = std::move(*log);
    }
    if (!contain() || !start())
        return 1;
    equip(ending_);
    // Only now: the helper does not wait for it.
    if (options_.is_fork)
        sys::show_command_line(to_argv(options_));
    if (options_.restart == Restart::never)
        let_go_of_stdio();

    for (;;) {
        // While the kernel ends the cgroup there is nothing to hear that would not keep: whatever we do takes
        // the processors from the dying.
        const int cgroup = ending_.cgroup_watch();
        auto unless_ending = [cgroup](int fd) { return cgroup < 0 ? fd : -1; };
        std::array<pollfd, 6> fds{{
            {.fd = unless_ending(signals_.fd()), .events = POLLIN, .revents = 0},
            {.fd = unless_ending(control_open_ ? control_.fd() : -1), .events = POLLIN, .revents = 0},
            {.fd = unless_ending(host_.valid() ? host_.get() : -1), .events = POLLIN, .revents = 0},
            {.fd = unless_ending(log_ ? log_->reading_end() : -1), .events = POLLIN, .revents = 0},
            {.fd = cgroup, .events = POLLPRI, .revents = 0},
            {.fd = unless_ending(log_ ? log_->host_end() : -1), .events = POLLOUT, .revents = 0},
        }};
        if (::poll(fds.data(), fds.size(), next_wake().poll_timeout()) == 0)
            tell_what_waits();
        if (fds[2].revents) {
            host_.reset();
            begin_stop(StopReason::host_gone);
            if (ending_.cgroup_watch() >= 0)
                continue;
        }
        if (log_)
            log_->copy();
        hear_signals();
        hear_control();
        if (!ending_.running())
            watch_limits();
        consider_restart();
        if (start_again_at_ && sys::boottime_ms() >= *start_again_at_ && old_generation_gone()) {
            start_again_at_.reset();
            if (!start())
                begin_stop(StopReason::command_ended);
        }
        if (ending_.running()) {
            ending_.tick();
            hear_signals();
            if (tree_.empty())
                break;
            if (ending_.given_up()) {
                tell_what_waits();
                for (const auto& [pid, command] : tree_.survivors())
                    control_.send(base::cat("survivor ", pid));
                return 1;
            }
        }
    }
    if (log_)
        log_->drain();
    // Who is spared lives on in the cgroup above, and does not keep ours.
    if (cgroup_ && tree_.spares_some())
        cgroup_->let_out();
    tell_what_waits();
    control_.send("done");
    return 0;
}

int run_keeper(const KeeperOptions& options) {
    // Its own process group: what the terminal sends to the helper's group is not for the keeper.
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, sys::keeper_name); // and not the name of the program that we are a part of
    const std::vector<int> heard{SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, sys::stop_now_signal()};
    // What the command may get is not for the keeper, and must not end it.
    sys::ignore_signal(SIGPIPE);
    for (int signal : core::signals_of_use())
        if (std::ranges::find(heard, signal) == heard.end())
            sys::ignore_signal(signal);
    auto signals = sys::SignalQueue::of(heard);
    auto tree = Tree::below_this_process();
    auto spare = SpareList::compile(options.spare);
    if (!signals || !tree || !spare)
        return 1;
    // Only what is meant for the tree may reach it; everything else we got is for us alone.
    for (int fd : {options.control_fd, options.host_fd, options.terminal_fd, options.own_life_fd})
        if (fd >= 0)
            ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    Keeper keeper(options, std::move(*tree), std::move(*signals), std::move(*spare));
    int status = keeper.run();
    keeper.clear_after_front();
    return status;
}

int keeper_main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    std::string refusal;
    if (const auto other = other_protocol_in(words)) {
        refusal = describe_other_protocol(protocol_version, *other);
    } else {
        const auto options = parse_keeper_argv(words);
        if (options)
            return run_keeper(*options);
        refusal = options.error().message;
    }
    std::fprintf(stderr, "holdfast-keep: %s\n", base::printable(refusal).c_str());
    // The stderr of a keeper may lead nowhere: its library hears the reason on the control socket.
    if (const int control = control_fd_in(words); control > 2)
        Control(sys::Fd(control)).send(base::cat("refused ", refusal));
    return exit_usage;
}

} // namespace holdfast::keep
