#include "sys/fork.hpp"

#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/lock_file.hpp"
#include "sys/proc.hpp"
#include "sys/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::sys {

namespace {

constexpr int exit_failed = 70;
constexpr int most_without_proc = 4096; // numbers that are looked at where /proc is missing

// What an exec would have closed, and nothing else: the host may have left us others on purpose.
void close_on_exec(const std::vector<std::pair<int, int>>& kept) {
    std::vector<int> open = open_descriptors();
    if (open.empty())
        for (int number = STDERR_FILENO + 1; number < most_without_proc; ++number)
            open.push_back(number);
    for (const int number : open) {
        const bool is_kept =
            std::ranges::any_of(kept, [number](const auto& one) { return one.second == number; });
        const int flags = ::fcntl(number, F_GETFD);
        if (!is_kept && flags >= 0 && (flags & FD_CLOEXEC) != 0)
            Fd(number).reset();
    }
}

[[noreturn]] void run_child(const ForkSpec& spec, std::vector<char*>& env, const std::function<int()>& work) {
    // Targets are free numbers in the parent, so no source is overwritten before it is copied.
    for (const auto& [here, there] : spec.fds)
        if (::dup2(here, there) < 0)
            ::_exit(exit_failed);
    LockFile::leave_to_parent();
    close_on_exec(spec.fds);
    environ = env.data();
    struct sigaction hup{};
    ::sigaction(SIGHUP, nullptr, &hup);
    default_signals(hup.sa_handler == SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::_exit(work());
}

} // namespace

Result<PidFd> fork_worker(const ForkSpec& spec, const std::function<int()>& work) {
    std::vector<char*> env;
    env.reserve(spec.env.size() + 1);
    for (const std::string& variable : spec.env)
        env.push_back(const_cast<char*>(variable.c_str()));
    env.push_back(nullptr);
    // Not fork(): its handlers would close our lock files in the child before the child has copied those that it is
    // to hold.
    const pid_t pid = ::_Fork();
    if (pid < 0)
        return fail_sys("start a process");
    if (pid == 0)
        run_child(spec, env, work);
    return PidFd::open(pid); // our child, not reaped: its number is its own
}

} // namespace holdfast::sys
