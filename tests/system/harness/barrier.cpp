#include "harness/barrier.hpp"

#include "sys/errors.hpp"

#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>

namespace holdfast::harness {
namespace {

long futex(std::atomic<std::uint32_t>* word, int op, std::uint32_t value, const timespec* timeout) {
    return ::syscall(SYS_futex, word, op, value, timeout, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>* word) {
    futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

} // namespace

Result<Barrier> Barrier::create(std::uint32_t parties) {
    if (parties == 0)
        return fail(Errc::invalid_argument, "a barrier needs at least one party");
    sys::Fd fd(::memfd_create("hf-barrier", MFD_CLOEXEC));
    if (!fd)
        return sys::fail_sys("memfd_create");
    if (::ftruncate(fd.get(), sizeof(Shared)) != 0)
        return sys::fail_sys("ftruncate");
    auto barrier = map(std::move(fd));
    if (barrier)
        barrier->shared_->parties = parties;
    return barrier;
}

Result<Barrier> Barrier::adopt(sys::Fd fd) {
    return map(std::move(fd));
}

Result<Barrier> Barrier::map(sys::Fd fd) {
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
        return sys::fail_sys("mmap of the barrier");
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");
    return Barrier(std::move(fd), static_cast<Shared*>(memory));
}

Barrier::Barrier(Barrier&& other) noexcept
    : fd_(std::move(other.fd_))
    , shared_(std::exchange(other.shared_, nullptr)) {}

Barrier::~Barrier() {
    if (shared_ != nullptr)
        ::munmap(shared_, sizeof(Shared));
}

std::uint32_t Barrier::parties() const {
    return shared_->parties;
}

Result<void> Barrier::arrive(const Deadline& deadline, std::chrono::microseconds spin) {
    if (shared_->broken.load() != 0)
        return fail(Errc::closed, "another party gave up on the barrier");
    const std::uint32_t round = shared_->round.load();
    if (shared_->arrived.fetch_add(1) + 1 == shared_->parties) {
        shared_->arrived.store(0); // before the release: nobody can arrive for the next round earlier
        shared_->round.fetch_add(1);
        wake_all(&shared_->round);
        return {};
    }
    const bool may_spin = shared_->parties <= std::thread::hardware_concurrency();
    const auto spin_end = Deadline::Clock::now() + spin;
    while (may_spin && shared_->round.load() == round && Deadline::Clock::now() < spin_end) {
    }
    while (shared_->round.load() == round && shared_->broken.load() == 0) {
        const auto left = deadline.remaining().count();
        if (left == 0) {
            shared_->broken.store(1);
            shared_->round.fetch_add(1); // so that sleepers see a changed word
            wake_all(&shared_->round);
            return fail(Errc::timed_out, "not every party came to the barrier in time");
        }
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        futex(&shared_->round, FUTEX_WAIT, round, &timeout);
    }
    if (shared_->broken.load() != 0)
        return fail(Errc::closed, "another party gave up on the barrier");
    return {};
}

Result<void> pin_to_processor(unsigned index) {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return sys::fail_sys("sched_getaffinity");
    unsigned left = index % static_cast<unsigned>(CPU_COUNT(&allowed));
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed) || left-- > 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return ::sched_setaffinity(0, sizeof one, &one) == 0 ? Result<void>{}
                                                             : sys::fail_sys("sched_setaffinity");
    }
    return fail(Errc::unsupported, "no processor to bind to");
}

} // namespace holdfast::harness
