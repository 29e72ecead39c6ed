#include "supervise/kept_process.hpp"

#include "base/text.hpp"
#include "keep/keeper_options.hpp"
#include "registry/helper_logs.hpp"
#include "sys/errors.hpp"
#include "sys/free_numbers.hpp"
#include "sys/pipes.hpp"
#include "sys/proc.hpp"
#include "sys/spawn.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace holdfast::supervise {

namespace {

std::vector<std::string> environment_of(const ProcessSpec& spec, const std::string& notify_address,
                                        const std::string& id) {
    std::vector<std::string> out = spec.environment;
    // A service manager above the host is not the process's to talk to.
    set_variable(out, base::cat("NOTIFY_SOCKET=", notify_address));
    set_variable(out, base::cat("HOLDFAST_ID=", id));
    return out;
}

Result<registry::Entry> make_entry(const ProcessSpec& spec, const places::Places& places,
                                   std::uint64_t generation) {
    base::HelperFacts facts;
    facts.restarts = static_cast<std::uint32_t>(generation - 1);
    facts.label = label_of(spec);
    facts.stop_plan = spec.stop_plan;
    facts.host_pid = ::getpid();
    facts.host_command = sys::command_line_for_people(facts.host_pid);
    return registry::Entry::create(places.helpers, spec.command, {}, facts);
}

// The keeper starts in the helper's directory, so an error of that would look like one of the keeper.
Result<void> check_directory(const ProcessSpec& spec) {
    if (spec.directory.empty())
        return {};
    struct stat found{};
    int error = 0;
    if (::stat(spec.directory.c_str(), &found) != 0)
        error = errno;
    else if (!S_ISDIR(found.st_mode))
        error = ENOTDIR;
    else if (::access(spec.directory.c_str(), X_OK) != 0)
        error = errno;
    if (error == 0)
        return {};
    return std::unexpected(Error{Errc::cannot_start,
                                 base::cat("cannot start \"", spec.command.front(), "\" in the directory \"",
                                           spec.directory, "\": ", sys::describe_errno(error)),
                                 error});
}

} // namespace

KeptProcess::KeptProcess(registry::Entry entry, keep::Control control, sys::NotifySocket notify)
    : entry_(std::move(entry))
    , id_(entry_->id())
    , control_(std::move(control))
    , notify_(std::move(notify))
    , keeper_(sys::Fd(), 0) {}

KeptProcess::~KeptProcess() = default;

Result<KeptProcess::Stdio> KeptProcess::make_stdio(const ProcessSpec& spec) {
    Stdio out;
    if (spec.terminal) {
        auto pty = sys::open_pty();
        if (!pty)
            return std::unexpected(pty.error());
        if (auto sized = sys::set_window_size(pty->master.get(), *spec.terminal); !sized)
            return std::unexpected(sized.error());
        out.output = std::move(pty->master);
        out.slave = std::move(pty->slave);
        return out;
    }
    auto input = sys::make_pipe();
    auto output = sys::make_pipe();
    if (!input || !output)
        return std::unexpected(!input ? input.error() : output.error());
    for (const int fd : {input->writing.get(), output->reading.get()})
        if (auto changed = sys::set_nonblocking(fd); !changed)
            return std::unexpected(changed.error());
    out.input = std::move(input->writing);
    out.output = std::move(output->reading);
    out.child_input = std::move(input->reading);
    out.child_output = std::move(output->writing);
    return out;
}

Result<std::unique_ptr<KeptProcess>> KeptProcess::start(const ProcessSpec& spec, const KeeperPlace& place,
                                                        std::uint64_t generation) {
    if (auto checked = check_directory(spec); !checked)
        return std::unexpected(checked.error());
    auto plan = core::parse_stop_plan(spec.stop_plan);
    auto containment = keep::parse_containment(spec.containment);
    auto host = sys::PidFd::open(::getpid());
    auto entry = make_entry(spec, place.places, generation);
    if (!plan || !containment || !host || !entry)
        return std::unexpected(!plan          ? plan.error()
                               : !containment ? containment.error()
                               : !host        ? host.error()
                                              : entry.error());
    keep::KeeperOptions options;
    options.id = entry->id();
    options.plan = std::move(*plan);
    options.containment = *containment;
    options.command = spec.command;
    if (spec.errors == ErrorOutput::log && !spec.terminal) {
        auto path = registry::place_for_log(place.places, entry->id());
        if (!path)
            return std::unexpected(path.error());
        options.log = std::move(*path);
        if (auto written = entry->update([&](base::HelperFacts& facts) { facts.log = options.log; });
            !written)
            return std::unexpected(written.error());
    }

    // The keeper's ends of pipes and socket must be in no other process when this is over.
    const sys::ForkShield::NoFork no_fork;
    auto control = keep::Control::make_pair();
    auto notify = sys::NotifySocket::open();
    auto stdio = make_stdio(spec);
    if (!control || !notify || !stdio)
        return std::unexpected(!control ? control.error() : !notify ? notify.error() : stdio.error());
    std::unique_ptr<KeptProcess> kept(
        new KeptProcess(std::move(*entry), std::move(control->first), std::move(*notify)));

    kept->generation_ = generation;
    sys::SpawnSpec keeper;
    keeper.executable = place.program;
    keeper.directory = spec.directory;
    sys::Fd null;
    const bool own_errors = !spec.terminal && spec.errors == ErrorOutput::inherit;
    if (spec.terminal || !own_errors)
        null = sys::own_fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (spec.terminal)
        keeper.fds = {{null.get(), STDIN_FILENO}, {null.get(), STDOUT_FILENO}};
    else
        keeper.fds = {{stdio->child_input.get(), STDIN_FILENO}, {stdio->child_output.get(), STDOUT_FILENO}};
    if (!own_errors) // a log is instead of the host's stderr, not besides
        keeper.fds.emplace_back(null.get(), STDERR_FILENO);
    // Where none are free, numbers of the host's own: in the child it does not need them.
    int number = sys::free_numbers(keep::first_life_number, keep::most_given_descriptors)
                     .value_or(keep::first_life_number);
    const auto give = [&](int fd) {
        keeper.fds.emplace_back(fd, number);
        return number++;
    };
    options.life_fds.push_back(give(kept->entry_->ownership().life_fd()));
    options.control_fd = give(control->second.fd());
    options.host_fd = give(host->fd());
    if (spec.terminal)
        options.terminal_fd = give(stdio->slave.get());
    keeper.argv = keep::to_argv(options);
    keeper.env = environment_of(spec, kept->notify_.address(), kept->id_);
    auto started = sys::spawn(keeper);
    if (!started)
        return std::unexpected(started.error());
    kept->keeper_ = std::move(*started);
    kept->terminal_ = spec.terminal.has_value();
    kept->input_ = std::move(stdio->input);
    kept->output_ = std::move(stdio->output);
    for (const int fd : {kept->input_.get(), kept->output_.get(), kept->control_.fd(), kept->notify_.fd(),
                         kept->keeper_.fd()})
        if (fd >= 0)
            kept->shield_.add(fd, no_fork);
    return kept;
}

void KeptProcess::stop(std::string_view reason) const {
    control_.send(base::cat("stop ", reason));
    sys::continue_stopped(keeper_);
}

bool KeptProcess::keeper_is_stopped() const {
    return sys::is_stopped(keeper_.pid()); // our own child, not reaped: its number is its own
}

void KeptProcess::kill_keeper() const {
    static_cast<void>(keeper_.signal(SIGKILL));
}

void KeptProcess::pass_on(int signal) const {
    control_.send(base::cat("signal ", signal));
}

void KeptProcess::close_input() {
    if (terminal_) {
        // As after half a line: whether one is open only its writer knows.
        if (!std::exchange(input_ended_, true))
            static_cast<void>(sys::write_quietly(output_.get(), sys::end_of_input(output_.get(), true)));
        return;
    }
    if (!input_)
        return;
    shield_.forget(input_.get());
    input_.reset();
}

std::optional<base::NotifyWords> KeptProcess::hear_notify() const {
    auto text = notify_.next();
    if (!text)
        return std::nullopt;
    return base::read_notify(*text);
}

void KeptProcess::see_helper(pid_t pid) {
    told_pid_ = pid;
    look_at_helper();
    seen_at_once_ = helper_.has_value();
}

// It may be gone already, and its number somebody else's: only the keeper's child is the helper. That it
// cannot be looked at just now (no free descriptor, no memory) says nothing of it.
void KeptProcess::look_at_helper() {
    auto process = sys::PidFd::open(told_pid_);
    if (!process) {
        helper_gone_ = process.error().code == Errc::not_found;
        return;
    }
    const auto stat = sys::read_stat(told_pid_);
    if (!stat) // asked by its name, which takes no descriptor
        helper_gone_ =
            ::access(base::cat("/proc/", told_pid_, "/stat").c_str(), F_OK) != 0 && errno == ENOENT;
    else if (stat->ppid != keeper_.pid())
        helper_gone_ = true;
    else
        helper_ = std::move(*process);
}

bool KeptProcess::helper_ended() {
    if (!helper_ && !helper_gone_ && told_pid_ != 0)
        look_at_helper();
    return helper_gone_ || (helper_ && helper_->ended());
}

// The kernel closes a process's descriptors before its pidfd says that it has ended, but after it has marked
// it.
bool KeptProcess::helper_is_ending() {
    return helper_ended() || (told_pid_ != 0 && sys::is_doomed(told_pid_)) || helper_ended();
}

void KeptProcess::note_helper(const std::string& containment) {
    if (!entry_)
        return;
    // The record tells people and the sweep; a helper runs as well without it (a full disk).
    static_cast<void>(entry_->update([&](base::HelperFacts& facts) {
        facts.containment = containment;
        if (auto identity = sys::identify(keeper_))
            facts.keeper = *identity;
        if (seen_at_once_) // otherwise whoever looks again may be setting it now
            if (auto identity = sys::identify(*helper_))
                facts.helper = *identity;
    }));
}

void KeptProcess::note_phase(Phase phase) {
    if (!entry_)
        return;
    Ownership& ownership = entry_->ownership();
    static_cast<void>(phase == Phase::ready      ? ownership.ready()
                      : phase == Phase::draining ? ownership.draining()
                                                 : ownership.starting());
}

void KeptProcess::note_progress(std::uint64_t done, std::uint64_t total) {
    if (entry_)
        static_cast<void>(entry_->ownership().report_progress(done, total));
}

void KeptProcess::abandon_to_sweep() {
    if (helper_)
        static_cast<void>(helper_->signal(SIGKILL));
    if (entry_) {
        entry_->leave_behind();
        entry_.reset();
    }
}

} // namespace holdfast::supervise
