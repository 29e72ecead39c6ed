#include "slot/freeze_points.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace holdfast::slot_child {

FreezePoints freeze;

namespace {

long raw_six(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    register long x5 asm("x5") = f;
    asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "teach raw_six this machine"
#endif
}

long with_errno(long result) {
    if (result >= 0 || result < -4095)
        return result;
    errno = static_cast<int>(-result);
    return -1;
}

void stop_here() {
    raw_six(SYS_kill, raw_six(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGSTOP, 0, 0, 0, 0);
}
void freeze_once(std::atomic<bool>& point) {
    if (point.exchange(false))
        stop_here();
}
void freeze_at_turn(std::atomic<int>& turns) {
    if (turns.load() > 0 && turns.fetch_sub(1) == 1)
        stop_here();
}

bool is_lock_file(int fd) {
    char link[32], path[512];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = ::readlink(link, path, sizeof path);
    return length > 0 && std::string_view(path, static_cast<std::size_t>(length)).ends_with(".lock");
}

} // namespace
} // namespace holdfast::slot_child

using holdfast::slot_child::freeze;

// These stand in front of libc's own for everything that is linked into the program.
extern "C" {

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
    holdfast::slot_child::freeze_once(freeze.epoch_write);
    return holdfast::slot_child::with_errno(holdfast::slot_child::raw_six(
        SYS_pwrite64, fd, reinterpret_cast<long>(data), static_cast<long>(size), offset, 0, 0));
}

int close(int fd) {
    if (freeze.lock_close.load() && holdfast::slot_child::is_lock_file(fd))
        holdfast::slot_child::freeze_once(freeze.lock_close);
    return static_cast<int>(
        holdfast::slot_child::with_errno(holdfast::slot_child::raw_six(SYS_close, fd, 0, 0, 0, 0, 0)));
}

int rename(const char* from, const char* to) noexcept {
    holdfast::slot_child::freeze_once(freeze.record_rename);
    return static_cast<int>(holdfast::slot_child::with_errno(holdfast::slot_child::raw_six(
        SYS_renameat2, AT_FDCWD, reinterpret_cast<long>(from), AT_FDCWD, reinterpret_cast<long>(to), 0, 0)));
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to,
              unsigned flags) noexcept {
    holdfast::slot_child::freeze_once(freeze.record_rename);
    return static_cast<int>(holdfast::slot_child::with_errno(holdfast::slot_child::raw_six(
        SYS_renameat2, from_directory, reinterpret_cast<long>(from), to_directory, reinterpret_cast<long>(to),
        static_cast<long>(flags), 0)));
}

long syscall(long number, ...) noexcept {
    va_list list;
    va_start(list, number);
    long word[6];
    for (long& value : word)
        value = va_arg(list, long);
    va_end(list);
    if (number == SYS_pidfd_open)
        holdfast::slot_child::freeze_at_turn(freeze.pidfd_open);
    if (number == SYS_pidfd_send_signal)
        holdfast::slot_child::freeze_once(freeze.pidfd_signal);
    return holdfast::slot_child::with_errno(
        holdfast::slot_child::raw_six(number, word[0], word[1], word[2], word[3], word[4], word[5]));
}
}
