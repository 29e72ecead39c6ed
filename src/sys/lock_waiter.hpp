// Waits for an OFD lock in the kernel, with something to poll and a way to stop.
//
// F_OFD_SETLKW blocks its caller and knows no time-out. So a tiny process does the blocking: it shares our
// memory and the open file (an OFD lock belongs to that, so what it is granted is granted to us), it can be
// ended by its pidfd without a signal handler in the host, it costs no copy of the host's memory, and it dies
// with the thread that started it. It has a descriptor table of its own with two entries: in a shared one the
// POSIX locks of a killed host would live on.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <sys/types.h>

#include <memory>

namespace holdfast::sys {

class LockWaiter {
public:
    // Starts waiting for the byte of fd. Exclusive needs fd open for writing.
    static Result<LockWaiter> start(int fd, int byte, bool shared);

    LockWaiter(LockWaiter&&) noexcept;
    LockWaiter& operator=(LockWaiter&&) noexcept;
    LockWaiter(const LockWaiter&) = delete;
    LockWaiter& operator=(const LockWaiter&) = delete;
    ~LockWaiter(); // stops waiting; a lock that was granted but not accepted is dropped

    // Readable when the lock was granted, or waiting failed.
    [[nodiscard]] int fd() const noexcept;
    // The waiting process: it holds what it was granted, on our behalf, and must not be taken for a stranger.
    [[nodiscard]] pid_t pid() const noexcept;
    // After fd() is readable: an exclusive lock is the caller's from now on; a shared one was dropped
    // already. Error when the kernel refused (ENOLCK).
    Result<void> accept();

private:
    struct Shared;
    explicit LockWaiter(std::unique_ptr<Shared> shared) noexcept;
    void stop() noexcept;
    std::unique_ptr<Shared> shared_;
};

} // namespace holdfast::sys
