#include "sys/lock_waiter.hpp"

#include "sys/errors.hpp"
#include "sys/raw_syscall.hpp"
#include "sys/signal_mask.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#if defined(__SANITIZE_THREAD__)
// Its interceptor of clone() takes every child for a fork, and would write so into the memory that we share.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...); // NOLINT: libc's own other name of it
#define clone __clone
#endif

namespace holdfast::sys {

namespace {
constexpr idtype_t p_pidfd = static_cast<idtype_t>(3);
constexpr std::size_t stack_bytes = 16 * 1024;
} // namespace

struct LockWaiter::Shared {
    int lock_fd = -1;
    pid_t parent = 0;
    pid_t pid = 0;
    struct flock request{};
    Fd granted;               // a pipe: the waiter has the other end
    int tell = -1;            // that end, in the waiter
    Fd process;               // pidfd
    volatile long result = 1; // 1 while waiting, then 0 or -errno
    bool accepted = false;
    alignas(16) std::array<char, stack_bytes> stack;

    // Runs in the waiter. Only raw system calls: it shares our thread-local storage, so libc's errno would be
    // ours.
    __attribute__((no_sanitize("address", "thread", "undefined"), optimize("no-stack-protector"))) static int
    wait(void* argument) {
        auto* self = static_cast<Shared*>(argument);
        raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
        if (raw_syscall(SYS_getppid, 0, 0, 0, 0) != self->parent)
            return 0; // the parent died before the line above took effect
        // Nothing of ours may stay open here: not the host's pipes, and not files with POSIX locks on them.
        long low = self->lock_fd < self->tell ? self->lock_fd : self->tell;
        long high = self->lock_fd < self->tell ? self->tell : self->lock_fd;
        if (low > 0)
            raw_syscall(SYS_close_range, 0, low - 1, 0, 0);
        if (high > low + 1)
            raw_syscall(SYS_close_range, low + 1, high - 1, 0, 0);
        raw_syscall(SYS_close_range, high + 1, ~0U, 0, 0);
        long result = 0;
        do {
            result = raw_syscall(SYS_fcntl, self->lock_fd, F_OFD_SETLKW,
                                 reinterpret_cast<long>(&self->request), 0);
        } while (result == -EINTR);
        // A shared lock was only to learn that the byte came free. Dropped here and not by the host, which
        // may be stopped: its read lock would keep every starter out until it goes on.
        if (result == 0 && self->request.l_type == F_RDLCK) {
            struct flock drop = self->request;
            drop.l_type = F_UNLCK;
            raw_syscall(SYS_fcntl, self->lock_fd, F_OFD_SETLK, reinterpret_cast<long>(&drop), 0);
        }
        self->result = result;
        raw_syscall(SYS_write, self->tell, reinterpret_cast<long>("!"), 1, 0);
        return 0;
    }
};

LockWaiter::LockWaiter(std::unique_ptr<Shared> shared) noexcept
    : shared_(std::move(shared)) {}
LockWaiter::LockWaiter(LockWaiter&&) noexcept = default;
LockWaiter& LockWaiter::operator=(LockWaiter&& other) noexcept {
    if (this != &other) {
        stop();
        shared_ = std::move(other.shared_);
    }
    return *this;
}
LockWaiter::~LockWaiter() {
    stop();
}

Result<LockWaiter> LockWaiter::start(int fd, int byte, bool shared) {
    auto self = std::make_unique<Shared>();
    self->lock_fd = fd;
    self->parent = ::getpid();
    self->request.l_type = shared ? F_RDLCK : F_WRLCK;
    self->request.l_whence = SEEK_SET;
    self->request.l_start = byte;
    self->request.l_len = 1;
    // Not an eventfd: the writer of a pipe tells the kernel that it is about to wait. Whoever reads it is
    // then run on the same processor, at once, and no idle one has to be woken for it.
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        return fail_sys("create a pipe");
    self->granted = own_fd(ends[0]);
    const Fd tell = own_fd(ends[1]); // ours is closed when the waiter has its copy
    self->tell = tell.get();
    // No exit signal: the host's SIGCHLD handler and its waitpid(-1) never see this process.
    int pidfd = -1;
    // Not CLONE_FILES: a POSIX lock belongs to the table of descriptors, and would outlive a killed owner in
    // this copy.
    int flags = CLONE_VM | CLONE_PIDFD;
    // All signals blocked: one that is sent to the group (Ctrl-C) would run the host's handler a second time,
    // in the waiter, on the waiter's stack. SIGKILL is all it needs to hear.
    pid_t pid = -1;
    int error = 0;
    {
        const SignalsBlocked quiet;
        pid = ::clone(&Shared::wait, self->stack.data() + self->stack.size(), flags, self.get(), &pidfd);
        error = errno;
    }
    if (pid < 0)
        return fail_sys("start a lock waiter", error);
    self->process = own_fd(pidfd);
    self->pid = pid;
    return LockWaiter(std::move(self));
}

int LockWaiter::fd() const noexcept {
    return shared_->granted.get();
}

pid_t LockWaiter::pid() const noexcept {
    return shared_->pid;
}

Result<void> LockWaiter::accept() {
    if (shared_->result > 0) // the pipe was closed and nothing written: somebody killed the waiter
        return fail_sys("wait for a lock", ECHILD);
    if (shared_->result < 0)
        return fail_sys("wait for a lock", static_cast<int>(-shared_->result));
    shared_->accepted = true;
    return {};
}

void LockWaiter::stop() noexcept {
    if (!shared_)
        return;
    siginfo_t info{};
    // One that has brought its lock ends by itself, and mostly has.
    const bool ended = shared_->accepted &&
                       ::waitid(p_pidfd, static_cast<id_t>(shared_->process.get()), &info,
                                WEXITED | WNOHANG | __WALL) == 0 &&
                       info.si_pid != 0;
    if (!ended)
        ::syscall(SYS_pidfd_send_signal, shared_->process.get(), SIGKILL, nullptr, 0);
    while (!ended &&
           ::waitid(p_pidfd, static_cast<id_t>(shared_->process.get()), &info, WEXITED | __WALL) != 0 &&
           errno == EINTR) {
    }
    if (!shared_->accepted) {
        // It may have been granted in the last instant. Dropping what was not granted does nothing.
        struct flock drop = shared_->request;
        drop.l_type = F_UNLCK;
        ::fcntl(shared_->lock_fd, F_OFD_SETLK, &drop);
    }
    shared_.reset();
}

} // namespace holdfast::sys
