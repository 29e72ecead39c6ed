#include "sys/signals.hpp"

#include "sys/errors.hpp"
#include "sys/raw_syscall.hpp"

#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::sys {

namespace {
constexpr std::uint64_t stop_now_word = 0x686F'6C64; // "hold": also where a pointer has 32 bits

HF_BARE bool is_in(std::uint32_t kept, int signal) {
    return signal <= SIGQUIT && (kept >> signal & 1U) != 0;
}
} // namespace

Result<SignalQueue> SignalQueue::of(const std::vector<int>& signals, Ignored ignored) {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : signals)
        // Blocked, it is queued although it is ignored.
        if (ignored == Ignored::are_heard || !is_in(kept_ignored(), signal))
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
    Arrived out{.signal = static_cast<int>(info.ssi_signo),
                .from_kernel = info.ssi_code == SI_KERNEL,
                .sender = static_cast<pid_t>(info.ssi_pid)};
    if (info.ssi_code == SI_QUEUE)
        out.value = info.ssi_ptr;
    return out;
}

bool SignalQueue::waiting(int signal) const { // NOLINT(readability-convert-member-functions-to-static)
    sigset_t pending;
    return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

void ignore_signal(int signal) {
    struct sigaction action{};
    action.sa_handler = SIG_IGN;
    ::sigaction(signal, &action, nullptr);
}

std::uint32_t kept_ignored() noexcept {
    std::uint32_t kept = 0;
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT}) {
        struct sigaction now{};
        if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN)
            kept |= 1U << signal;
    }
    return kept;
}

HF_BARE void set_disposition(int number, void (*handler)(int)) noexcept {
    const struct { // as the kernel has it; a restorer is for handlers of one's own
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)();
        std::uint64_t mask;
    } action{handler, 0, nullptr, 0};
    raw_syscall(SYS_rt_sigaction, number, reinterpret_cast<long>(&action), 0, sizeof action.mask);
}

HF_BARE void default_signals(std::uint32_t kept) noexcept {
    constexpr int first_of_libc = 32; // it keeps two for itself
    for (int number = 1; number < NSIG; ++number)
        if (number != SIGKILL && number != SIGSTOP && number != first_of_libc &&
            number != first_of_libc + 1 && !is_in(kept, number))
            set_disposition(number, SIG_DFL);
}

int stop_now_signal() noexcept {
    return SIGRTMIN + 3;
}

bool says_stop_now(const SignalQueue::Arrived& arrived) noexcept {
    return arrived.signal == stop_now_signal() && arrived.value == stop_now_word;
}

Result<bool> tell_stop_now(const PidFd& process) {
    return process.queue(stop_now_signal(), stop_now_word);
}

void stop_self() {
    ::raise(SIGSTOP);
}

bool can_be_resumed() {
    const pid_t parent = ::getppid();
    return parent > 0 && ::getsid(parent) == ::getsid(0);
}

TerminalStops::TerminalStops() noexcept {
    sigset_t both;
    ::sigemptyset(&both);
    ::sigaddset(&both, SIGTTIN);
    ::sigaddset(&both, SIGTTOU);
    ::pthread_sigmask(SIG_UNBLOCK, &both, &before_);
}

TerminalStops::~TerminalStops() {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

} // namespace holdfast::sys
