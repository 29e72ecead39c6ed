// Signals as something to poll.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <sys/types.h>

#include <csignal>
#include <initializer_list>
#include <optional>

namespace holdfast::sys {

class SignalQueue {
public:
    // Blocks these signals in this thread and queues them here. A program for a single-threaded process. HUP,
    // INT and QUIT that whoever started us had us ignore (nohup, a shell's background job) stay ignored.
    static Result<SignalQueue> of(std::initializer_list<int> signals);
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    struct Arrived {
        int signal = 0;
        bool from_kernel = false; // by the terminal (Ctrl-C, hang-up), not by kill(2)
        pid_t sender = 0;         // 0: unknown, or in a PID namespace that is not below ours
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
// For a child before its exec: all of them do what they do by default. `keep_hup`: HUP stays as it is, which is
// what `nohup` wants.
void default_signals(bool keep_hup);
// By which fronts and keepers are told to end their tree at once, and then themselves.
int stop_now_signal() noexcept;
// Stops this process as the terminal would, and returns when it is continued.
void stop_self();

} // namespace holdfast::sys
