// All signals of the calling thread blocked, for as long as this lives; afterwards as before. What is started
// meanwhile (a thread, a clone) inherits it, and so never runs a handler of the host's.
#pragma once

#include "sys/errors.hpp"

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::sys {

class SignalsBlocked {
public:
    SignalsBlocked() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

// A thread of ours: the host's signals are for the host's threads. Where none can be had the error says so,
// with EAGAIN.
template <class Body>
Result<std::thread> start_thread(Body body) {
    const SignalsBlocked quiet;
    try {
        return std::thread(std::move(body));
    } catch (const std::system_error& error) {
        return fail_sys("start a thread", error.code().value());
    }
}

} // namespace holdfast::sys
