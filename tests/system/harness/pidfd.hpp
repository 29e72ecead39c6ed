// The two pidfd calls, made directly: glibc 2.36 declares them without extern "C", so C++ cannot link them.
// The tests have their own so that a mistake in the product's wrapper cannot hide itself.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>

namespace holdfast::harness {

inline int pidfd_open(pid_t pid) noexcept {
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

// 0, or -1 with errno (ESRCH: it is gone and reaped).
inline int pidfd_signal(int pidfd, int number) noexcept {
    return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0));
}

// The same with a value, as sigqueue(3) sends it.
inline int pidfd_queue(int pidfd, int number, int value) noexcept {
    siginfo_t info{};
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = ::getpid();
    info.si_value.sival_int = value;
    return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, number, &info, 0));
}

} // namespace holdfast::harness
