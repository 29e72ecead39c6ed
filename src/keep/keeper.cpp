#include "keep/keeper.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "core/front_signals.hpp"
#include "keep/control.hpp"
#include "keep/log_copy.hpp"
#include "keep/pid_namespace.hpp"
#include "keep/tree.hpp"
#include "keep/tree_ending.hpp"
#include "keep/usage.hpp"
#include "registry/entry.hpp"
#include "registry/events.hpp"
#include "slot/pid_file.hpp"
#include "sys/cgroup.hpp"
#include "sys/clock.hpp"
#include "sys/command_line.hpp"
#include "sys/proc.hpp"
#include "sys/signals.hpp"
#include "sys/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::keep {

namespace {

using core::StopReason;

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t memory_look_ms = 250;
constexpr std::int64_t old_generation_ms = 10'000;
constexpr std::chrono::milliseconds look_at_old_generation{20};
constexpr std::uint64_t idle_cpu_share = 5000; // one 5000th of the idle time: 120 ms in ten minutes

class Keeper {
public:
    Keeper(const KeeperOptions& options, Tree tree, sys::SignalQueue signals, SpareList spare)
        : options_(options)
        , control_(sys::Fd(options.control_fd))
        , host_(options.host_fd)
        , tree_(std::move(tree))
        , signals_(std::move(signals))
        , ending_(tree_, options.plan, [this](const Tree::Ended& ended) { note_end(ended); }) {
        tree_.spare(std::move(spare));
    }

    int run();
    void clear_after_front();

private:
    bool contain();
    bool start();
    void note_end(const Tree::Ended& ended);
    void hear_control();
    void pass_on(int signal, std::optional<std::uint64_t> value);
    void hear_signals();
    void consider_restart();
    [[nodiscard]] bool old_generation_gone();
    void watch_limits();
    void begin_stop(StopReason reason);
    struct News {
        std::string message;
        registry::Event event; // what the front makes of it; an empty type: nothing to log
    };
    void tell(std::string message, registry::Event event);
    void tell_what_waits();
    void let_go_of_stdio();
    [[nodiscard]] bool wants_restart() const;
    [[nodiscard]] sys::Deadline next_wake() const;
    [[nodiscard]] std::vector<std::string> environment() const;

    const KeeperOptions& options_;
    Control control_;
    sys::Fd host_;
    Tree tree_;
    sys::SignalQueue signals_;
    TreeEnding ending_;
    std::optional<sys::Cgroup> cgroup_;
    bool memory_by_cgroup_ = false;
    std::optional<LogCopy> log_;
    bool control_open_ = true;
    std::vector<News> to_be_told_;

    pid_t helper_ = 0; // 0 between a crash and its replacement
    std::optional<sys::PidFd::Exit> last_exit_;
    core::Backoff backoff_;
    std::optional<std::int64_t> start_again_at_; // boot time in ms
    std::int64_t started_at_ = 0;
    std::int64_t born_ = sys::boottime_ms();
    std::uint32_t restarts_ = 0;
    std::uint64_t last_io_ = 0;
    std::uint64_t last_cpu_ns_ = 0;
    std::int64_t moved_at_ = 0;
    std::int64_t next_measure_ = 0;
};

std::vector<std::string> Keeper::environment() const {
    std::vector<std::string> out;
    std::string mark = base::cat(registry::mark_variable, '=');
    for (char** entry = environ; *entry; ++entry)
        if (!std::string_view(*entry).starts_with(mark))
            out.emplace_back(*entry);
    out.push_back(mark + options_.id);
    return out;
}

bool Keeper::contain() {
    if (options_.containment == Containment::plain || options_.containment == Containment::pid_namespace)
        return true;
    auto made = sys::Cgroup::create(options_.id);
    if (made) {
        cgroup_ = std::move(*made);
        ending_.use(&*cgroup_);
        if (options_.memory)
            memory_by_cgroup_ = cgroup_->limit_memory(options_.memory);
        return true;
    }
    if (options_.containment == Containment::automatic)
        return true; // a subreaper does without
    control_.send(base::cat("refused ", made.error().message));
    return false;
}

bool Keeper::start() {
    sys::SpawnSpec spec;
    spec.argv = options_.command;
    if (options_.containment == Containment::pid_namespace)
        spec = inside_pid_namespace(options_.command);
    spec.env = environment();
    // The life descriptors are inherited as they are: only the front's own are close-on-exec.
    if (cgroup_) {
        spec.cgroup_procs = cgroup_->procs_fd();
        spec.cgroup_birth = cgroup_->birth_fd();
    }
    if (options_.terminal_fd >= 0) {
        spec.new_session = true;
        spec.controlling_tty = options_.terminal_fd;
        for (int number : {0, 1, 2})
            spec.fds.emplace_back(options_.terminal_fd, number);
    } else if (options_.join_front_group) {
        spec.process_group = options_.front_group;
    } else {
        spec.process_group = 0;
    }
    if (log_)
        spec.fds.emplace_back(log_->writing_end(), STDERR_FILENO);
    auto started = sys::spawn(spec);
    if (!started) {
        control_.send(base::cat("failed ", started.error().sys));
        return false;
    }
    helper_ = started->pid();
    started_at_ = moved_at_ = sys::boottime_ms();
    last_exit_.reset();
    control_.send(base::cat("spawned ", helper_, ' ',
                            cgroup_ ? std::string_view("cgroup")
                                    : name_of(options_.containment == Containment::pid_namespace
                                                  ? Containment::pid_namespace
                                                  : Containment::plain),
                            ' ', protocol_version));
    return true;
}

// What the host hears end-of-file on must not be kept open by us.
void Keeper::let_go_of_stdio() {
    sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int number : {0, 1, 2})
        if (number != 2 || !log_)
            ::dup2(null.get(), number);
    if (log_)
        log_->take_over_stderr();
}

void Keeper::note_end(const Tree::Ended& ended) {
    if (ended.pid != helper_)
        return;
    helper_ = 0;
    last_exit_ = ended.exit;
    tell(base::cat("exited ", ended.exit.status, ' ', ended.exit.signal, ' ', ended.exit.cpu_ms, ' ',
                   ended.exit.max_rss_kb),
         {.unix_ms = 0,
          .type = ended.exit.signal ? "killed" : "exited",
          .id = {},
          .label = {},
          .pid = ended.pid,
          .reason = ending_.reason() ? std::string(core::name_of(*ending_.reason())) : "",
          .status = ended.exit.status});
}

// While a tree is being killed, a word to the front would wake it to write records, on the processors that
// the dying need. It hears all of it, in order, when nothing is left, or when that takes its time.
void Keeper::tell(std::string message, registry::Event event) {
    to_be_told_.push_back({.message = std::move(message), .event = std::move(event)});
    if (!ending_.killing())
        tell_what_waits();
}

void Keeper::tell_what_waits() {
    for (News& news : to_be_told_) {
        if (control_.send(news.message) || options_.events.empty() || news.event.type.empty())
            continue;
        // Nobody hears it any more, so nobody else would log it.
        news.event.id = options_.id;
        news.event.label = options_.label;
        registry::EventLog(options_.events).append(std::move(news.event));
    }
    to_be_told_.clear();
}

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

void Keeper::hear_control() {
    Message message;
    for (;;) {
        switch (control_.receive(message)) {
        case Control::State::nothing_yet:
            return;
        case Control::State::closed:
            if (control_open_) {
                control_open_ = false;
                begin_stop(StopReason::front_gone);
            }
            return;
        case Control::State::message:
            if (message.word == "stop") {
                begin_stop(core::stop_reason_named(message.values.empty() ? "" : message.values[0])
                               .value_or(StopReason::asked));
            } else if (message.word == "moved") {
                moved_at_ = sys::boottime_ms();
            } else if (message.word == "signal" && helper_ > 0) {
                pass_on(static_cast<int>(message.number(0)), message.value(1));
            }
        }
    }
}

void Keeper::pass_on(int signal, std::optional<std::uint64_t> value) {
    // The leader of a session of its own: nobody in it could continue the command, so the kernel lets nothing
    // but STOP stop it. (The init of a PID namespace sees to this itself.)
    if (options_.terminal_fd >= 0 && options_.containment != Containment::pid_namespace &&
        core::use_of(signal) == core::SignalUse::pause)
        signal = SIGSTOP;
    // Our own child that we have not reaped: its number cannot have been given away.
    if (auto process = sys::PidFd::open(helper_))
        (void)(value ? process->queue(signal, *value) : process->signal(signal));
}

void Keeper::hear_signals() {
    while (auto arrived = signals_.next())
        if (arrived->signal != SIGCHLD)
            begin_stop(arrived->signal == sys::stop_now_signal() ? StopReason::asked_now : StopReason::asked);
    tree_.reap([this](const Tree::Ended& ended) { note_end(ended); });
}

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
    if (!tree_.empty()) {
        if (cgroup_ && !tree_.spares_some())
            (void)cgroup_->kill();
        tree_.signal_all(SIGKILL);
    }
    std::int64_t delay =
        std::max<std::int64_t>(0, (verdict.not_before.count() - sys::boottime_ns()) / ns_per_ms);
    control_.send(base::cat("restarting ", ++restarts_, ' ', delay));
    start_again_at_ = now + delay;
}

// KILL was sent when the restart was decided on; a large process takes its time to go, and one that forked in
// that instant has not heard it.
bool Keeper::old_generation_gone() {
    if (tree_.empty())
        return true;
    if (sys::boottime_ms() - *start_again_at_ > old_generation_ms)
        begin_stop(StopReason::command_ended); // which names what lives on
    else
        tree_.signal_all(SIGKILL);
    return false;
}

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

} // namespace

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
    std::vector<std::string> words(argv, argv + argc);
    if (!accept_protocol(words))
        return 64;
    auto options = parse_keeper_argv(words);
    if (!options) {
        std::fprintf(stderr, "holdfast-keep: %s\n", base::printable(options.error().message).c_str());
        return 64;
    }
    return run_keeper(*options);
}

} // namespace holdfast::keep
