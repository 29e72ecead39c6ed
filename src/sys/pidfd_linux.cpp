#include "sys/pidfd.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"

#include <fcntl.h>
#include <linux/types.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>

namespace holdfast::sys {

namespace {
constexpr decltype(statfs::f_type) pidfs_magic = 0x50494446; // not in Debian 12's headers
constexpr idtype_t p_pidfd = static_cast<idtype_t>(3);

// The first version of the kernel's struct pidfd_info (64 bytes), which Debian 12's headers do not have.
struct PidfdInfo {
    std::uint64_t mask = 0;
    std::uint64_t cgroup = 0;
    std::uint32_t pid = 0, tgid = 0, ppid = 0;
    std::uint32_t ids[8] = {};
    std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t info_exit = std::uint64_t{1} << 3;
constexpr unsigned long get_info = _IOWR(0xFF, 11, PidfdInfo);

// Looked up when this is loaded, by the thread that loads it: later, a thread of ours could be reading the
// environment while the host changes it.
std::atomic<bool> inodes_ignored{std::getenv("HOLDFAST_WITHOUT_PIDFS") != nullptr};
} // namespace

void PidFd::ignore_inodes() noexcept {
    inodes_ignored = true;
}

Result<PidFd> PidFd::open(pid_t pid) {
    if (pid <= 0)
        return fail(Errc::invalid_argument, base::cat("there is no process ", pid));
    int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0) {
        if (errno == ESRCH)
            return fail(Errc::not_found, base::cat("there is no process ", pid), ESRCH);
        return fail_sys(base::cat("open a pidfd for process ", pid));
    }
    return PidFd(own_fd(fd), pid);
}

Result<PidFd> PidFd::of(int pidfd) {
    Fd mine(::fcntl(pidfd, F_DUPFD_CLOEXEC, 3));
    if (!mine)
        return fail_sys(base::cat("duplicate the pidfd ", pidfd));
    auto text = read_small_file(base::cat("/proc/self/fdinfo/", mine.get()), 4096).value_or("");
    std::size_t at = text.find("\nPid:");
    if (at == std::string::npos)
        return fail(Errc::invalid_argument, base::cat("descriptor ", pidfd, " is not a pidfd"));
    at = text.find_first_not_of(" \t", at + 5);
    pid_t pid = 0;
    if (at != std::string::npos)
        std::from_chars(text.data() + at, text.data() + text.size(), pid);
    if (pid < 0)
        return fail(Errc::not_found, base::cat("the process of pidfd ", pidfd, " has ended and was reaped"));
    if (pid == 0)
        return fail(Errc::unreachable, base::cat("the process of pidfd ", pidfd,
                                                 " lives in another PID namespace and has no number here"));
    return PidFd(std::move(mine), pid);
}

Result<PidFd> PidFd::duplicate() const {
    Fd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3));
    if (!copy)
        return fail_sys("duplicate a pidfd");
    return PidFd(std::move(copy), pid_);
}

bool PidFd::ended() const {
    return wait_ended(Deadline::at(0));
}

bool PidFd::wait_ended(const Deadline& deadline) const {
    pollfd one{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    for (;;) {
        int n = ::poll(&one, 1, deadline.poll_timeout());
        if (n > 0)
            return true;
        if (n == 0 && deadline.passed())
            return false;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

Result<bool> PidFd::signal(int signal) const {
    if (::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) == 0)
        return true;
    if (errno == ESRCH)
        return false;
    return fail_sys(base::cat("send signal ", signal, " to process ", pid_));
}

Result<bool> PidFd::queue(int signal, std::uint64_t value) const {
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = ::getpid();
    info.si_uid = ::getuid();
    info.si_ptr =
        reinterpret_cast<void*>(value); // NOLINT(performance-no-int-to-ptr): a value, never followed
    if (::syscall(SYS_pidfd_send_signal, fd_.get(), signal, &info, 0) == 0)
        return true;
    if (errno == ESRCH)
        return false;
    return fail_sys(base::cat("send signal ", signal, " to process ", pid_));
}

std::uint64_t PidFd::unique_inode() const {
    if (inodes_ignored)
        return 0;
    struct statfs filesystem{};
    struct stat file{};
    if (::fstatfs(fd_.get(), &filesystem) != 0 || filesystem.f_type != pidfs_magic)
        return 0;
    return ::fstat(fd_.get(), &file) == 0 ? file.st_ino : 0;
}

std::optional<PidFd::Exit> PidFd::try_reap() const {
    siginfo_t info{};
    rusage usage{};
    // The raw call, since glibc's waitid has no rusage. __WALL: also children that do not announce their end.
    if (::syscall(SYS_waitid, p_pidfd, fd_.get(), &info, WEXITED | WNOHANG | __WALL, &usage) != 0 ||
        info.si_pid == 0)
        return std::nullopt;
    Exit out;
    out.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    out.status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    out.core = info.si_code == CLD_DUMPED;
    out.cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                 (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    out.max_rss_kb = usage.ru_maxrss;
    return out;
}

std::optional<int> PidFd::peek_exit_status() const {
    siginfo_t info{};
    if (::syscall(SYS_waitid, p_pidfd, fd_.get(), &info, WEXITED | WNOHANG | WNOWAIT | __WALL, nullptr) ==
            0 &&
        info.si_pid != 0)
        return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    PidfdInfo past{.mask = info_exit};
    if (::ioctl(fd_.get(), get_info, &past) != 0 || !(past.mask & info_exit))
        return std::nullopt;
    int status = past.exit_code;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool wait_all_ended(const std::vector<PidFd>& processes, const Deadline& deadline) {
    for (const PidFd& process : processes)
        if (!process.wait_ended(deadline))
            return false;
    return true;
}

} // namespace holdfast::sys
