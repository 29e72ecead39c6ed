// A process held by a descriptor: unlike a number, it cannot come to mean somebody else.
#pragma once

#include "holdfast/result.hpp"
#include "sys/clock.hpp"
#include "sys/fd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sys {

class PidFd {
public:
    // The process that has this number now. Error not_found when there is none.
    static Result<PidFd> open(pid_t pid);
    // The process behind a pidfd of somebody else's, which stays theirs. Errors: invalid_argument (not a
    // pidfd), not_found (ended and reaped), unreachable (it has no number in this PID namespace).
    static Result<PidFd> of(int pidfd);
    PidFd(Fd fd, pid_t pid) noexcept
        : fd_(std::move(fd))
        , pid_(pid) {}

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    // A second descriptor of the same process.
    [[nodiscard]] Result<PidFd> duplicate() const;

    // Ended, even if nobody reaped it yet. (A zombie still answers kill(pid, 0): never ask that.)
    [[nodiscard]] bool ended() const;
    // True when it ended before the deadline.
    [[nodiscard]] bool wait_ended(const Deadline& deadline) const;

    // True when it was delivered, false when the process is gone already. Errors: not_permitted.
    [[nodiscard]] Result<bool> signal(int signal) const;
    // As sigqueue(3): the same, with a value for whoever hears it.
    [[nodiscard]] Result<bool> queue(int signal, std::uint64_t value) const;

    // The inode, where it identifies the process (pidfs); 0 on kernels on which all pidfds share one.
    [[nodiscard]] std::uint64_t unique_inode() const;
    // From now on all of this process are taken for such, as when it is started with HOLDFAST_WITHOUT_PIDFS:
    // by this the tests take the way of older kernels.
    static void ignore_inodes() noexcept;

    // Reaps it, if it is our child and has ended: its wait status as waitpid gives it.
    struct Exit {
        int status = 0; // exit code, or 128 + signal
        int signal = 0; // 0 when it exited by itself
        bool core = false;
        std::int64_t cpu_ms = 0;
        std::int64_t max_rss_kb = 0;
    };
    [[nodiscard]] std::optional<Exit> try_reap() const;

    // Exit code, or 128 + signal, of one that has ended, taking nothing from whoever may reap it: for our
    // children while they are zombies, for all others (and for children that were reaped) where the kernel
    // remembers it (6.14 and newer).
    [[nodiscard]] std::optional<int> peek_exit_status() const;

private:
    Fd fd_;
    pid_t pid_ = 0;
};

// Waits until all have ended or the deadline passed; true when all ended.
bool wait_all_ended(const std::vector<PidFd>& processes, const Deadline& deadline);

} // namespace holdfast::sys
