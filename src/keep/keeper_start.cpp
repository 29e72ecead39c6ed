// Starts the helper, in its cgroup, session or process group.
#include "keep/keeper_parts.hpp"

#include "base/text.hpp"
#include "ending/mark.hpp"
#include "keep/pid_namespace.hpp"
#include "sys/spawn.hpp"

#include <fcntl.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::keep {

std::vector<std::string> Keeper::environment() const {
    std::vector<std::string> out;
    std::string mark = base::cat(ending::mark_variable, '=');
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
    } else if (options_.join_group) {
        spec.process_group = *options_.join_group;
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

} // namespace holdfast::keep
