// Signals as something to poll.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"
#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::sys {

class SignalQueue {
public:
    // HUP, INT and QUIT that whoever started us had us ignore (nohup, a shell's background job).
    enum class Ignored {
        stay_ignored, // not queued: for a program that would end by them
        are_heard,    // queued: for one that passes them on to another, which may handle them
    };
    // Blocks these signals in this thread and queues them here. A program for a single-threaded process.
    static Result<SignalQueue> of(const std::vector<int>& signals, Ignored ignored = Ignored::stay_ignored);
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    struct Arrived {
        int signal = 0;
        bool from_kernel = false;                // by the terminal (Ctrl-C, hang-up), not by kill(2)
        pid_t sender = 0;                        // 0: unknown, or in a PID namespace that is not below ours
        std::optional<std::uint64_t> value = {}; // what sigqueue(3) sent along
    };
    [[nodiscard]] std::optional<Arrived> next() const;
    // Whether this one of its signals has arrived and was not taken by next() yet.
    [[nodiscard]] bool waiting(int signal) const;

private:
    explicit SignalQueue(Fd fd) noexcept
        : fd_(std::move(fd)) {}
    Fd fd_;
};

void ignore_signal(int signal);
// HUP, INT and QUIT as far as this process ignores them: what `nohup` and a shell's background job want kept
// over an exec. A bit for each, at its number.
std::uint32_t kept_ignored() noexcept;
// SIG_DFL or SIG_IGN, by no call of libc's: for a process that shares our memory, or is a copy of it.
void set_disposition(int signal, void (*handler)(int)) noexcept;
// For a child before its exec: every signal but those of `kept` does what it does by default.
void default_signals(std::uint32_t kept) noexcept;
// By which fronts and keepers are told to end their tree at once, and then themselves. A front takes it for
// that only with our word in it (tell_stop_now): the bare signal is the command's, as every real-time one.
int stop_now_signal() noexcept;
bool says_stop_now(const SignalQueue::Arrived& arrived) noexcept;
// True when it was delivered, false when the process is gone already.
[[nodiscard]] Result<bool> tell_stop_now(const PidFd& process);
// Stops this process as the terminal would, and returns when it is continued.
void stop_self();
// Whether a shell could continue this process's group once it has stopped: the parent is in our session. (The
// kernel asks this of the whole group, and finds the command's parent there, the keeper.)
bool can_be_resumed();

// For as long as this lives a read or a change of the terminal from the background stops this process, as it
// stops others: with TTIN and TTOU blocked it would fail, or succeed.
class TerminalStops {
public:
    TerminalStops() noexcept;
    TerminalStops(const TerminalStops&) = delete;
    TerminalStops& operator=(const TerminalStops&) = delete;
    ~TerminalStops();

private:
    sigset_t before_{};
};

} // namespace holdfast::sys
