#include "sys/spawn.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/program_path.hpp"
#include "sys/raw_syscall.hpp"
#include "sys/signals.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::sys {

namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

// The thread sanitizer keeps its books in the memory that the child would share, and takes the child's doings
// for ours.
#if defined(__SANITIZE_THREAD__)
constexpr bool lends_memory = false;
#else
constexpr bool lends_memory = true;
#endif
// The address sanitizer marks a stack by the frames on it, and those of the child are never left.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool lends_stack = false;
#else
constexpr bool lends_stack = true;
#endif

// A descriptor of ours and its number in the child. `by_copy`: that number of ours is itself a target
// (perhaps its own: dup2 onto itself would leave close-on-exec set). The copy is made in the child, whose
// descriptors are its own: here, closing one of a lock file would drop the owner byte (see lock_file.hpp).
struct Move {
    int from = -1;
    int to = -1;
    bool by_copy = false;
};

// Everything the child needs, laid out before it exists: it shares our memory and must not allocate.
struct Plan {
    const SpawnSpec* spec = nullptr;
    std::vector<std::string> candidates;
    std::vector<char*> argv;
    std::vector<char*> shell_argv; // "/bin/sh script args…" for a script without an interpreter line
    std::vector<char*> env_storage;
    char** env = nullptr;
    std::vector<Move> moves;
    int above_targets = 3;
    sigset_t all{};
    std::uint32_t kept_ignored = 0; // see default_signals()
    int* error = nullptr;           // in memory that the child shares with us
    bool born_in_cgroup = false;
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const std::string& text : texts)
        out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
}

// A system call of the child, as the kernel returns it: -errno for a failure. The child of a program with
// threads is a copy (or borrows our memory) in which another thread may hold any lock for ever. The thread
// sanitizer takes locks of its own inside libc's calls, so the child makes none of these.
HF_BARE long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    return raw_syscall(number, a, b, c, d);
}
HF_BARE long address_of(const void* pointer) {
    return reinterpret_cast<long>(pointer);
}

[[noreturn]] HF_BARE void give_up(const Plan& plan, long failed) {
    *plan.error = static_cast<int>(-failed);
    for (;;)
        call(SYS_exit_group, 127);
}

// A background process may not take the terminal unless it ignores the signal that would stop it.
HF_BARE void take_foreground() {
    set_disposition(SIGTTOU, SIG_IGN);
    const auto group = static_cast<pid_t>(call(SYS_getpgid, 0));
    call(SYS_ioctl, STDIN_FILENO, TIOCSPGRP, address_of(&group));
}

HF_BARE void move_descriptors(Plan& plan) {
    for (Move& move : plan.moves) {
        if (!move.by_copy)
            continue;
        const long copy = call(SYS_fcntl, move.from, F_DUPFD_CLOEXEC, plan.above_targets);
        if (copy < 0)
            give_up(plan, copy);
        move.from = static_cast<int>(copy);
    }
    for (const Move& move : plan.moves)
        if (const long moved = call(SYS_dup3, move.from, move.to, 0); moved < 0)
            give_up(plan, moved);
}

[[noreturn]] HF_BARE void execute(Plan& plan) {
    long worst = -ENOENT;
    for (const std::string& candidate : plan.candidates) {
        const auto run = [&plan](const char* program, const std::vector<char*>& argv) HF_BARE {
            return call(SYS_execve, address_of(program), address_of(argv.data()), address_of(plan.env));
        };
        long failed = run(candidate.c_str(), plan.argv);
        if (failed == -ENOEXEC) {
            plan.shell_argv[1] = const_cast<char*>(candidate.c_str());
            failed = run("/bin/sh", plan.shell_argv);
        }
        if (failed != -ENOENT && failed != -ENOTDIR)
            worst = failed;
    }
    give_up(plan, worst);
}

// Not to be inlined: see born_by_clone3.
[[gnu::noinline]] HF_BARE int child(void* argument) {
    auto& plan = *static_cast<Plan*>(argument);
    const SpawnSpec& spec = *plan.spec;
    const auto must = [&plan](long result) HF_BARE {
        if (result < 0)
            give_up(plan, result);
    };
    if (spec.die_with_parent)
        must(call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL));
    if (spec.cgroup_procs >= 0 && !plan.born_in_cgroup)
        must(call(SYS_write, spec.cgroup_procs, address_of("0"), 1));
    if (spec.new_session)
        must(call(SYS_setsid));
    if (spec.controlling_tty >= 0)
        must(call(SYS_ioctl, spec.controlling_tty, TIOCSCTTY, 0));
    if (spec.process_group) {
        // Joining another group is a courtesy to the terminal; having one of its own is a promise.
        const long joined = call(SYS_setpgid, 0, *spec.process_group);
        if (*spec.process_group == 0)
            must(joined);
    }
    if (spec.take_foreground)
        take_foreground();
    move_descriptors(plan);
    if (!spec.directory.empty())
        must(call(SYS_chdir, address_of(spec.directory.c_str())));
    default_signals(plan.kept_ignored);
    const std::uint64_t none = 0;
    call(SYS_rt_sigprocmask, SIG_SETMASK, address_of(&none), 0, sizeof none);
    execute(plan);
}

// By clone3, which libc does not wrap. For a birth inside a cgroup: moving into one makes the kernel wait for
// all processors (some 10 ms), being born in one does not. As with vfork, the child runs on our own stack
// below this frame while we stand still: so the call is made in place, with no frame of a wrapper for it to
// overwrite. `cgroup` may be -1. -1 where it cannot be had.
pid_t born_by_clone3(Plan& plan, int cgroup, int& pidfd) {
    void* page = ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return -1;
    int* before = std::exchange(plan.error, static_cast<int*>(page));
    plan.born_in_cgroup = cgroup >= 0;
    clone_args args{};
    args.flags = CLONE_VFORK | CLONE_PIDFD | (lends_stack ? CLONE_VM : 0);
    args.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
    args.exit_signal = SIGCHLD;
    if (cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = static_cast<__u64>(cgroup);
    }
    const long born = raw_syscall(SYS_clone3, reinterpret_cast<long>(&args), sizeof args, 0, 0);
    if (born == 0)
        child(&plan); // does not return
    *before = *plan.error;
    plan.error = before;
    plan.born_in_cgroup = plan.born_in_cgroup && born > 0;
    ::munmap(page, sizeof(int));
    if (born < 0)
        errno = static_cast<int>(-born);
    return born < 0 ? -1 : static_cast<pid_t>(born);
}

} // namespace

Result<PidFd> spawn(const SpawnSpec& spec) {
    if (spec.argv.empty())
        return fail(Errc::invalid_argument, "there is no command to start");
    Plan plan;
    plan.spec = &spec;
    plan.candidates =
        spec.executable.empty() ? program_candidates(spec.argv.front()) : std::vector{spec.executable};
    plan.argv = pointers_to(spec.argv);
    plan.shell_argv.assign({const_cast<char*>("sh"), nullptr});
    plan.shell_argv.insert(plan.shell_argv.end(), plan.argv.begin() + 1, plan.argv.end());
    if (spec.env)
        plan.env_storage = pointers_to(*spec.env);
    plan.env = spec.env ? plan.env_storage.data() : environ;

    for (auto [from, to] : spec.fds) {
        const bool overwritten = std::any_of(spec.fds.begin(), spec.fds.end(),
                                             [from](const auto& move) { return move.second == from; });
        plan.moves.push_back({.from = from, .to = to, .by_copy = overwritten});
        plan.above_targets = std::max(plan.above_targets, to + 1);
    }

    plan.kept_ignored = sys::kept_ignored();
    std::unique_ptr<char[]> stack(new char[stack_bytes]);
    // No handler of the host may run in the child while it shares the host's memory.
    sigset_t before;
    ::sigfillset(&plan.all);
    ::pthread_sigmask(SIG_SETMASK, &plan.all, &before);
    int pidfd = -1;
    auto top = reinterpret_cast<std::uintptr_t>(stack.get() + stack_bytes) & ~std::uintptr_t{15};
    int exec_error = 0;
    plan.error = &exec_error;
    pid_t pid = spec.cgroup_birth >= 0 ? born_by_clone3(plan, spec.cgroup_birth, pidfd) : -1;
    if (pid < 0)
        pid = lends_memory ? ::clone(&child, reinterpret_cast<void*>(top),
                                     CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd)
                           : born_by_clone3(plan, -1, pidfd);
    int clone_error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0)
        return fail_sys("start a process", clone_error);
    PidFd process(own_fd(pidfd), pid);
    if (exec_error != 0) {
        while (!process.try_reap() && errno != ECHILD) {
        }
        return fail(Errc::cannot_start,
                    base::cat("cannot start \"", spec.argv.front(), "\": ", describe_errno(exec_error)),
                    exec_error);
    }
    return process;
}

} // namespace holdfast::sys
