#include "sys/signals.hpp"

#include "sys/errors.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace holdfast::sys {

namespace {
bool stays_ignored(int signal) {
    struct sigaction now {};
    return (signal == SIGHUP || signal == SIGINT || signal == SIGQUIT) &&
           ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}
} // namespace

Result<SignalQueue> SignalQueue::of(std::initializer_list<int> signals) {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : signals)
        if (!stays_ignored(signal)) // blocked, it would be queued all the same
            ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    Fd fd = own_fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd)
        return fail_sys("create a signalfd");
    return SignalQueue(std::move(fd));
}

std::optional<SignalQueue::Arrived> SignalQueue::next() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info))
        return std::nullopt;
    return Arrived{.signal = static_cast<int>(info.ssi_signo),
                   .from_kernel = info.ssi_code == SI_KERNEL,
                   .sender = static_cast<pid_t>(info.ssi_pid)};
}

bool SignalQueue::waiting(int signal) const { // NOLINT(readability-convert-member-functions-to-static)
    sigset_t pending;
    return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

void ignore_signal(int signal) {
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    ::sigaction(signal, &action, nullptr);
}

void default_signals(bool keep_hup) {
    for (int number = 1; number < NSIG; ++number) {
        if (number == SIGKILL || number == SIGSTOP || (number == SIGHUP && keep_hup))
            continue;
        struct sigaction action {};
        action.sa_handler = SIG_DFL;
        ::sigaction(number, &action, nullptr); // fails for the two that libc keeps for itself, which is right
    }
}

int stop_now_signal() noexcept {
    return SIGRTMIN + 3;
}

void stop_self() {
    ::raise(SIGSTOP);
}

} // namespace holdfast::sys
