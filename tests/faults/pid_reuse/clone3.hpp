// clone3 as a fork with flags. The process must be single-threaded, as a fork without libc's own care.
#pragma once

#include <csignal>
#include <cstdint>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace holdfast::pid_reuse {

// Like fork: 0 in the child, -1 with errno on failure. `pidfd` gets a close-on-exec pidfd of the child. With
// `wanted` > 0 the child has exactly that number in our PID namespace.
inline pid_t clone_process(std::uint64_t flags, int* pidfd, pid_t wanted = 0) noexcept {
    clone_args args{};
    args.flags = flags | CLONE_PIDFD;
    args.pidfd = reinterpret_cast<std::uint64_t>(pidfd);
    args.exit_signal = SIGCHLD;
    if (wanted > 0) {
        args.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
        args.set_tid_size = 1;
    }
    return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

} // namespace holdfast::pid_reuse
