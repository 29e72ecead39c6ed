// System calls without libc: no errno, no thread-local storage. For code that runs in a process that shares
// our memory.
#pragma once

// For a function that runs in such a process: the thread sanitizer adds nothing to it.
#if defined(__SANITIZE_THREAD__)
#define HF_BARE __attribute__((no_sanitize_thread))
#else
#define HF_BARE
#endif

namespace holdfast::sys {

__attribute__((always_inline)) inline long raw_syscall(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
    long result;
    register long r10 asm("r10") = d;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#else
#error "teach raw_syscall this machine"
#endif
}

} // namespace holdfast::sys
