#include "sys/fork.hpp"

#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/lock_file.hpp"
#include "sys/proc.hpp"
#include "sys/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::sys {

namespace {

constexpr int exit_failed = 70;
constexpr std::size_t numbers_looked_at = 1024;
constexpr std::size_t most_of_ours = 128; // we never have as many open at once

// The open ones of the low numbers, by one question to the kernel. Ours are among them: the kernel gives the
// lowest free number, unless a host has filled the low ones with its own; then /proc is read, which takes
// longer.
std::vector<int> open_numbers() {
    rlimit limit{};
    const bool limited = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < numbers_looked_at;
    std::vector<pollfd> all(limited ? limit.rlim_cur : numbers_looked_at);
    for (std::size_t number = 0; number < all.size(); ++number)
        all[number].fd = static_cast<int>(number);
    const bool asked = ::poll(all.data(), all.size(), 0) >= 0;
    std::vector<int> open;
    for (const pollfd& one : all)
        if (!asked || (one.revents & POLLNVAL) == 0)
            open.push_back(one.fd);
    if (asked && (limited || open.size() + most_of_ours < all.size()))
        return open;
    const std::vector<int> listed = open_descriptors();
    return listed.empty() ? open : listed;
}

// What an exec would have closed, and nothing else: the host may have left us others on purpose.
void close_on_exec(const std::vector<std::pair<int, int>>& kept) {
    for (const int number : open_numbers()) {
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
    default_signals(kept_ignored());
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
    // Not fork(): its handlers would close our lock files in the child before the child has copied those that
    // it is to hold.
    const pid_t pid = ::_Fork();
    if (pid < 0)
        return fail_sys("start a process");
    if (pid == 0)
        run_child(spec, env, work);
    return PidFd::open(pid); // our child, not reaped: its number is its own
}

} // namespace holdfast::sys
