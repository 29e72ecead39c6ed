#include "keep/front.hpp"

#include "core/notify_text.hpp"
#include "core/text.hpp"
#include "holdfast/parent_watch.hpp"
#include "keep/control.hpp"
#include "keep/tree.hpp"
#include "keep/tree_ending.hpp"
#include "slot/ownership.hpp"
#include "sys/cgroup.hpp"
#include "sys/clock.hpp"
#include "sys/errors.hpp"
#include "sys/free_numbers.hpp"
#include "sys/proc.hpp"
#include "sys/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::keep {

namespace {

using core::StopReason;
using registry::Event;

// Before this age a front does not watch its lock file: the watch costs milliseconds to close (see
// watch_fd()).
constexpr std::int64_t watch_slot_after_ms = 1000;
constexpr std::int64_t check_slot_every_ms = 5000; // where no watch can be had
constexpr std::int64_t unread_input_look_ms = 100;
constexpr std::int64_t last_words_ms = 250;

class Front {
public:
    Front(FrontOptions options, registry::Entry& entry, Ownership* slot, const registry::EventLog& events,
          Tree tree, sys::SignalQueue signals)
        : options_(std::move(options))
        , entry_(entry)
        , slot_(slot)
        , events_(events)
        , tree_(std::move(tree))
        , signals_(std::move(signals))
        , ending_(tree_, options_.keeper.plan, [this](const Tree::Ended& ended) { note_reaped(ended); }) {}

    FrontResult run();

private:
    Result<void> start_keeper();
    void hear_control();
    void hear(const Message& message);
    void hear_signals();
    void hear_signal(int signal, bool helper_has_it);
    [[nodiscard]] bool helper_went_its_way() const;
    void hear_notifications();
    void hear_input();
    void hear_terminal();
    void finish_output();
    void keeper_is_gone();
    void note_reaped(const Tree::Ended& ended);
    void tell_stop(StopReason reason);
    void set_phase(Phase phase);
    void check_slot();
    void log(std::string type, std::string reason = {}, std::optional<int> status = {});
    [[nodiscard]] sys::Deadline next_wake() const;
    template <class F>
    void on_ownerships(F&& change) {
        (void)change(entry_.ownership());
        if (slot_)
            (void)change(*slot_);
    }

    FrontOptions options_;
    registry::Entry& entry_;
    Ownership* slot_;
    const registry::EventLog& events_;
    Tree tree_;
    sys::SignalQueue signals_;
    TreeEnding ending_; // only after the keeper's death
    std::optional<Control> control_;
    std::optional<sys::PidFd> keeper_;
    std::optional<sys::NotifySocket> notify_;
    std::optional<Pty> pty_;

    FrontResult result_;
    pid_t helper_ = 0;
    bool said_ready_ = false;
    bool speaks_of_start_ = false; // and so says itself when it is over
    bool keeper_done_ = false;
    bool keeper_dead_ = false;
    bool stop_told_ = false;
    bool output_gone_told_ = false;
    std::optional<std::int64_t> input_closed_since_; // and since when what is unread stands still
    int unread_ = 0;
    std::int64_t born_ = sys::boottime_ms();
    std::int64_t next_slot_check_ = 0;
};

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

    sys::SpawnSpec spec;
    spec.executable = "/proc/self/exe"; // the very program that runs, even while it is being replaced on disk
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
    keeper.life_fds.push_back(give(entry_.ownership().life_fd()));
    if (slot_)
        keeper.life_fds.push_back(give(slot_->life_fd()));
    keeper.control_fd = give(pair->second.fd());
    if (options_.host)
        keeper.host_fd = give(options_.host->fd());
    if (pty_)
        keeper.terminal_fd = give(pty_->slave());
    keeper.front_group = ::getpgrp();
    keeper.join_front_group = !pty_ && ::isatty(STDIN_FILENO) == 1;
    spec.argv = to_argv(keeper);
    std::vector<std::string> env;
    for (char** variable = environ; *variable; ++variable)
        // The second is of our host, and was for us: the helper's parent is the keeper.
        if (!std::string_view(*variable).starts_with("NOTIFY_SOCKET=") &&
            !std::string_view(*variable).starts_with(core::cat(parent_variable, '=')))
            env.emplace_back(*variable);
    env.push_back("NOTIFY_SOCKET=" + notify_->address());
    env.push_back("HOLDFAST_ID=" + entry_.id());
    spec.env = std::move(env);
    auto started = sys::spawn(spec);
    if (!started)
        return std::unexpected(started.error());
    keeper_ = std::move(*started);
    control_ = std::move(pair->first);
    tree_.leave_out(keeper_->pid());
    if (pty_)
        pty_->close_slave();
    return {};
}

void Front::set_phase(Phase phase) {
    on_ownerships([phase](Ownership& ownership) {
        switch (phase) {
        case Phase::starting:
            return ownership.starting();
        case Phase::ready:
            return ownership.ready();
        case Phase::draining:
            return ownership.draining();
        }
        return Result<void>{};
    });
}

void Front::tell_stop(StopReason reason) {
    stop_told_ = true;
    if (keeper_dead_)
        ending_.begin(reason);
    else
        control_->send(core::cat("stop ", core::name_of(reason)));
}

void Front::hear(const Message& message) {
    if (message.word == "spawned") {
        helper_ = static_cast<pid_t>(message.number(0));
        std::string containment = message.values.size() > 1 ? message.values[1] : "plain";
        // Its first words may have been heard before the keeper's.
        bool ready_now =
            options_.readiness == Readiness::automatic && !said_ready_ && !speaks_of_start_;
        if (ready_now)
            entry_.ownership().state()->record.phase = Phase::ready; // written with the facts below
        (void)entry_.update([&](core::HelperFacts& facts) {
            facts.containment = containment;
            if (auto identity = sys::identify(*keeper_))
                facts.keeper = *identity;
            if (auto process = sys::PidFd::open(helper_))
                if (auto identity = sys::identify(*process))
                    facts.helper = *identity;
        });
        log(entry_.facts().restarts ? "respawned" : "spawned");
        if (ready_now) {
            if (slot_)
                (void)slot_->ready();
            sys::notify_above(options_.notify_above, "READY=1");
        }
    } else if (message.word == "failed") {
        int error = static_cast<int>(message.number(0));
        result_.error = Error{.code = Errc::cannot_start,
                              .message = core::cat("cannot start \"", options_.keeper.command.front(),
                                                   "\": ", sys::describe_errno(error)),
                              .sys = error};
    } else if (message.word == "refused") {
        std::string why;
        for (const std::string& word : message.values)
            why += core::cat(why.empty() ? "" : " ", word);
        result_.error = Error{.code = Errc::unsupported, .message = why};
    } else if (message.word == "exited") {
        result_.status = static_cast<int>(message.number(0));
        log(message.number(1) ? "killed" : "exited",
            result_.reason ? std::string(core::name_of(*result_.reason)) : "", result_.status);
        helper_ = 0;
    } else if (message.word == "restarting") {
        (void)entry_.update([&](core::HelperFacts& facts) {
            facts.restarts = static_cast<std::uint32_t>(message.number(0));
        });
        said_ready_ = speaks_of_start_ = false;
        set_phase(Phase::starting);
    } else if (message.word == "gave-up") {
        result_.gave_up = true;
        log("gave-up");
    } else if (message.word == "stopping") {
        result_.reason = core::stop_reason_named(message.values.empty() ? "" : message.values[0]);
        if (result_.reason && *result_.reason != StopReason::command_ended) {
            set_phase(Phase::draining);
            sys::notify_above(options_.notify_above, "STOPPING=1");
            log("stopping", std::string(core::name_of(*result_.reason)));
        }
    } else if (message.word == "survivor") {
        auto pid = static_cast<pid_t>(message.number(0));
        result_.survivors.push_back(core::cat("process ", pid, " (", sys::command_line_for_people(pid), ")"));
    } else if (message.word == "done") {
        keeper_done_ = true;
    }
}

void Front::hear_control() {
    // A few at a time: a helper that is restarted without a pause must not keep us from hearing anything
    // else.
    constexpr int at_once = 16;
    Message message;
    for (int heard = 0; control_ && heard < at_once; ++heard) {
        switch (control_->receive(message)) {
        case Control::State::nothing_yet:
            return;
        case Control::State::closed:
            keeper_is_gone();
            return;
        case Control::State::message:
            hear(message);
            break;
        }
    }
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

void Front::hear_signals() {
    std::vector<sys::SignalQueue::Arrived> all;
    while (auto arrived = signals_.next())
        all.push_back(*arrived);
    // The kernel hands them over by their numbers. "At once" was said before the TERM that follows it, and
    // must not be heard after.
    std::ranges::stable_partition(all, [](const auto& one) { return one.signal == stop_now_signal(); });
    for (const auto& arrived : all)
        hear_signal(arrived.signal, arrived.from_kernel && options_.keeper.join_front_group);
    // Before the keeper's death too: as PID 1 of a container we get the orphans of everybody who came in from
    // outside.
    tree_.reap([this](const Tree::Ended& ended) { note_reaped(ended); });
}

// We were continued after a stop that the terminal sent to both of us. Whoever continued our whole group (fg)
// has continued the helper, too; and if it is stopped all the same, a further Ctrl-Z has come, to both of us
// again. A CONT from us would undo that one: the helper would run on behind a shell that takes it for stopped.
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
        if (signal == stop_now_signal()) {
            tell_stop(StopReason::asked_now);
            break;
        }
        if (control_)
            control_->send(core::cat("signal ", signal));
    }
}

void Front::hear_notifications() {
    while (auto text = notify_->next()) {
        if (options_.keeper.idle.count() && control_)
            control_->send("moved");
        core::NotifyWords words = core::read_notify(*text);
        if (words.address)
            on_ownerships([&](Ownership& o) { return o.set_address(*words.address); });
        // Speaking of a start that is not over takes the benefit of the doubt back.
        if ((words.progress_done || words.extend_usec || words.status) && !said_ready_ && !words.ready) {
            speaks_of_start_ = true;
            set_phase(Phase::starting);
        }
        if (words.status)
            on_ownerships([&](Ownership& o) { return o.set_status(*words.status); });
        if (words.progress_done)
            on_ownerships(
                [&](Ownership& o) { return o.report_progress(*words.progress_done, words.progress_total); });
        if (words.extend_usec)
            on_ownerships([&](Ownership& o) {
                return o.extend_patience(Millis{static_cast<Millis::rep>(*words.extend_usec / 1000)});
            });
        if (words.ready && !said_ready_) {
            said_ready_ = true;
            set_phase(Phase::ready);
            log("ready");
        }
        if (words.stopping)
            set_phase(Phase::draining);
        sys::notify_above(options_.notify_above, *text);
    }
}

// The host closed stdin. What is still unread is the helper's to read first, as long as it does read.
void Front::hear_input() {
    std::int64_t now = sys::boottime_ms();
    int unread = 0;
    if (::ioctl(STDIN_FILENO, FIONREAD, &unread) != 0)
        unread = 0;
    if (!input_closed_since_ || unread != unread_)
        input_closed_since_ = now;
    unread_ = unread;
    std::int64_t patience = options_.keeper.plan.stages.front().wait.count();
    if (unread == 0 || now - *input_closed_since_ >= patience) {
        options_.watch_input = false;
        tell_stop(StopReason::input_closed);
    }
}

// As above, for a helper that gets its input through a terminal; and whether anybody still reads what it
// says.
void Front::hear_terminal() {
    if (pty_->input_ended() && options_.watch_input) {
        const std::int64_t patience = options_.keeper.plan.stages.front().wait.count();
        if (pty_->input_delivered() || sys::boottime_ms() - pty_->input_moved_at() >= patience) {
            options_.watch_input = false;
            tell_stop(StopReason::input_closed);
        }
    }
    if (pty_->reader_gone() && !output_gone_told_) {
        output_gone_told_ = true;
        tell_stop(StopReason::output_closed);
    }
}

// The tree is gone, and its last words are for whoever reads them. A command that ended by itself has the
// time its reader takes, as long as there is a host; one that was ended, only as long as something moves.
void Front::finish_output() {
    bool hurried = stop_told_ || (result_.reason && *result_.reason != StopReason::command_ended);
    const std::int64_t began = sys::boottime_ms();
    while (pty_->output_waits() && !pty_->reader_gone()) {
        const std::int64_t moved = std::max(began, pty_->output_moved_at());
        const sys::Deadline end = hurried ? sys::Deadline::at(moved + last_words_ms) : sys::Deadline::never();
        if (end.passed())
            return;
        Pty::Polled relayed = pty_->wishes();
        relayed[0].fd = -1; // nobody is left to read it
        std::array<pollfd, 5> fds{
            {relayed[0],
             relayed[1],
             relayed[2],
             {.fd = signals_.fd(), .events = POLLIN, .revents = 0},
             {.fd = options_.host && !hurried ? options_.host->fd() : -1, .events = POLLIN, .revents = 0}}};
        ::poll(fds.data(), fds.size(), end.poll_timeout());
        pty_->relay({fds[0], fds[1], fds[2]});
        while (auto arrived = signals_.next())
            hurried |=
                arrived->signal != SIGCHLD && arrived->signal != SIGWINCH && arrived->signal != SIGCONT;
        hurried |= fds[4].revents != 0;
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
        std::array<pollfd, 8> fds{{
            {.fd = signals_.fd(), .events = POLLIN, .revents = 0},
            {.fd = control_ ? control_->fd() : -1, .events = POLLIN, .revents = 0},
            {.fd = notify_->fd(), .events = POLLIN, .revents = 0},
            {.fd = look_at_input ? STDIN_FILENO : -1,
             .events = POLLRDHUP,
             .revents = 0}, // hang-up, of a socket also half of one
            {.fd = slot_watch, .events = POLLIN, .revents = 0},
            relayed[0],
            relayed[1],
            relayed[2],
        }};
        ::poll(fds.data(), fds.size(), next_wake().poll_timeout());
        if (fds[2].revents)
            hear_notifications();
        hear_signals();
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
                result_.survivors.push_back(core::cat("process ", pid, " (", command, ")"));
            break;
        }
    }
    // Reaped by a keeper that was killed before it could say so.
    if (helper_ != 0 && result_.survivors.empty() && !result_.error)
        log("exited", result_.reason ? std::string(core::name_of(*result_.reason)) : "");
    // Removing its cgroup was the keeper's to do. Asked of the kernel and not of the record: it may have died
    // before it could say that it made one.
    if (!keeper_done_ && result_.survivors.empty()) {
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

} // namespace

int stop_now_signal() {
    return SIGRTMIN + 3;
}

FrontResult run_front(FrontOptions options, registry::Entry& entry, Ownership* slot,
                      const registry::EventLog& events) {
    FrontResult failed;
    auto signals = sys::SignalQueue::of({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
                                         SIGWINCH, SIGTSTP, SIGCONT, SIGALRM, stop_now_signal()});
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
