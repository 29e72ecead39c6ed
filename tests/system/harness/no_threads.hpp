// A process that gets no more threads, as at its limit, for as long as this lives: each would need a stack
// that is larger than any address space.
#pragma once

#include <pthread.h>

#include <csignal>
#include <cstddef>

namespace holdfast::harness {

class NoThreads {
public:
    NoThreads() {
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t vast;
        ::pthread_attr_init(&vast);
        ::pthread_attr_setstacksize(&vast, std::size_t{1} << 50);
        ::pthread_setattr_default_np(&vast);
        ::pthread_attr_destroy(&vast);
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;
    ~NoThreads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

private:
    pthread_attr_t before_{};
};

// How many signals the calling thread has blocked.
inline int blocked_signals() {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    int count = 0;
    for (int signal = 1; signal <= SIGRTMAX; ++signal)
        count += ::sigismember(&mask, signal) == 1;
    return count;
}

} // namespace holdfast::harness
