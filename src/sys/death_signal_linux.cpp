#include "sys/death_signal.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace holdfast::sys {

namespace {

// What the handler rings. -1: there is no DeathSignal. A handler has nowhere else to look.
std::atomic<int> bell_of_process{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void ring(int) {
    int saved = errno;
    const std::uint64_t one = 1;
    (void)!::write(bell_of_process.load(), &one, sizeof one);
    errno = saved;
}

} // namespace

Result<DeathSignal> DeathSignal::arm(int signal) {
    Fd bell = own_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell)
        return fail_sys("create an eventfd");
    int none = -1;
    if (!bell_of_process.compare_exchange_strong(none, bell.get()))
        return fail(
            Errc::held,
            "this process watches its parent by a death signal already; one watch is all there can be");
    struct sigaction before{}, mine{};
    mine.sa_handler = &ring;
    mine.sa_flags = SA_RESTART;
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) {
        bell_of_process = -1;
        return fail(Errc::held,
                    base::cat("signal ", signal,
                              " is used by this process already; choose another as fallback_signal"));
    }
    DeathSignal out(std::move(bell), signal);
    if (::sigaction(signal, &mine, nullptr) != 0)
        return fail_sys(base::cat("handle signal ", signal));
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    if (::prctl(PR_SET_PDEATHSIG, signal) != 0)
        return fail_sys("set the parent-death signal");
    return out;
}

DeathSignal::DeathSignal(DeathSignal&& other) noexcept
    : bell_(std::move(other.bell_))
    , signal_(std::exchange(other.signal_, 0)) {}

DeathSignal::~DeathSignal() {
    if (signal_ == 0)
        return;
    int set = 0;
    if (::prctl(PR_GET_PDEATHSIG, &set) == 0 && set == signal_)
        ::prctl(PR_SET_PDEATHSIG, 0);
    // Ignored rather than default: where another thread had armed it the kernel still sends it, and the
    // default is death.
    ::signal(signal_, set == signal_ ? SIG_DFL : SIG_IGN);
    bell_of_process = -1;
}

void DeathSignal::clear() const {
    std::uint64_t count = 0;
    (void)!::read(bell_.get(), &count, sizeof count);
}

} // namespace holdfast::sys
