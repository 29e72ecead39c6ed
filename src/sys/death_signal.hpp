// PR_SET_PDEATHSIG as something to poll: the fallback where there is no pidfd_open.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

namespace holdfast::sys {

// At most one per process, since a signal's handler is the process's. The setting belongs to the thread that
// called arm() and ends with it. The signal comes also when the thread that made this process ends: it is a
// hint, ask getppid().
class DeathSignal {
public:
    // Errors: held (the signal has a handler, or there is a DeathSignal already), io.
    static Result<DeathSignal> arm(int signal);
    DeathSignal(DeathSignal&& other) noexcept;
    DeathSignal& operator=(DeathSignal&&) = delete;
    DeathSignal(const DeathSignal&) = delete;
    DeathSignal& operator=(const DeathSignal&) = delete;
    // Puts the signal's default back, and stops the kernel from sending it if called in the thread of arm().
    ~DeathSignal();

    [[nodiscard]] int fd() const noexcept { return bell_.get(); } // readable after the signal came
    void clear() const;

private:
    DeathSignal(Fd bell, int signal) noexcept
        : bell_(std::move(bell))
        , signal_(signal) {}
    Fd bell_;
    int signal_ = 0;
};

} // namespace holdfast::sys
