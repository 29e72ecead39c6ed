#include "base/text.hpp"
#include "harness/pidfd.hpp"
#include "harness/temp_dir.hpp"
#include "pid_reuse/clone3.hpp"
#include "pid_reuse/pid_reuse.hpp"
#include "sys/errors.hpp"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

namespace holdfast::pid_reuse {
namespace {

constexpr long pidfs_magic = 0x50494446;

// A plain fork after telling the kernel which number it gave last. Somebody else may have forked in between:
// then the child is sent away and the next try is made.
Result<Spawned> fork_after_last_pid(pid_t pid, const std::function<int()>& body) {
    for (int attempt = 0; attempt < 50; ++attempt) {
        if (auto written = harness::write_file("/proc/sys/kernel/ns_last_pid", base::cat(pid - 1)); !written)
            return std::unexpected(written.error());
        int pidfd = -1;
        const pid_t child = clone_process(0, &pidfd);
        if (child == 0)
            ::_exit(::getpid() == pid ? body() : 0);
        if (child < 0)
            return sys::fail_sys("fork");
        Spawned spawned{child, sys::Fd(pidfd)};
        if (child == pid)
            return spawned;
        ::waitpid(child, nullptr, 0);
        if (harness::read_file(base::cat("/proc/", pid, "/stat")))
            break; // not a lost race: the number is in use
    }
    return fail(Errc::held, base::cat("PID ", pid, " is taken; was its last process reaped?"));
}

} // namespace

Result<Spawned> Scenario::spawn_with_pid(pid_t pid, const std::function<int()>& body, Means means) {
    if (pid < 2)
        return fail(Errc::invalid_argument, "PIDs to give away start at 2");
    if (means == Means::last_pid)
        return fork_after_last_pid(pid, body);
    int pidfd = -1;
    const pid_t child = clone_process(0, &pidfd, pid);
    if (child == 0)
        ::_exit(body());
    if (child > 0)
        return Spawned{child, sys::Fd(pidfd)};
    if (errno == EEXIST)
        return fail(Errc::held, base::cat("PID ", pid, " is taken; was its last process reaped?"), EEXIST);
    if (means == Means::automatic && (errno == EPERM || errno == ENOSYS || errno == EINVAL))
        return fork_after_last_pid(pid, body);
    return sys::fail_sys(base::cat("clone3 with set_tid ", pid));
}

Result<harness::ExitStatus> Scenario::reap(pid_t pid, const harness::Deadline& deadline) {
    const sys::Fd pidfd(harness::pidfd_open(pid));
    if (!pidfd)
        return sys::fail_sys(base::cat("pidfd_open ", pid));
    if (auto ended = harness::wait_pidfd(pidfd.get(), deadline); !ended)
        return std::unexpected(ended.error());
    siginfo_t info{};
    if (::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED) != 0)
        return sys::fail_sys(base::cat("waitid for ", pid));
    return harness::ExitStatus{info.si_code != CLD_EXITED, info.si_status};
}

Result<harness::ExitStatus> Scenario::end(const Spawned& process) {
    if (harness::pidfd_signal(process.pidfd.get(), SIGKILL) != 0)
        return sys::fail_sys(base::cat("KILL to ", process.pid));
    return reap(process.pid);
}

Result<unsigned long long> pidfs_inode(int pidfd) {
    struct statfs filesystem{};
    struct stat info{};
    if (::fstatfs(pidfd, &filesystem) != 0 || ::fstat(pidfd, &info) != 0)
        return sys::fail_sys("fstat of a pidfd");
    if (filesystem.f_type != pidfs_magic)
        return fail(Errc::unsupported, "this kernel has no pidfs: all pidfds have the same inode");
    return info.st_ino;
}

} // namespace holdfast::pid_reuse
