// A barrier for processes: N of them start within microseconds of each other, round after round. It lives in
// a memfd, so it works for forked children (they inherit the object) and for programs that were exec'd (pass
// fd() and open it with Barrier::adopt).
#pragma once

#include "harness/deadline.hpp"
#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <atomic>
#include <cstdint>

namespace holdfast::harness {

class Barrier {
public:
    static Result<Barrier> create(std::uint32_t parties);
    // Maps the barrier behind an inherited descriptor.
    static Result<Barrier> adopt(sys::Fd fd);

    Barrier(Barrier&& other) noexcept;
    Barrier& operator=(Barrier&&) = delete;
    Barrier(const Barrier&) = delete;
    Barrier& operator=(const Barrier&) = delete;
    ~Barrier();

    // Returns in all parties once the last has arrived; the barrier is then ready for the next round. With
    // timed_out the barrier is broken for good and every other party gets closed, so that a party that
    // died never hangs the rest.
    // The futex alone wakes 16 processes some hundred microseconds apart; so the last stretch is spun, for at
    // most `spin`, where every party can have a processor.
    Result<void> arrive(const Deadline& deadline,
                        std::chrono::microseconds spin = std::chrono::microseconds(200));

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] std::uint32_t parties() const;

private:
    struct Shared {
        std::uint32_t parties;
        std::atomic<std::uint32_t> arrived;
        std::atomic<std::uint32_t> round; // the futex word; grows when a round is released
        std::atomic<std::uint32_t> broken;
    };
    Barrier(sys::Fd fd, Shared* shared)
        : fd_(std::move(fd))
        , shared_(shared) {}
    static Result<Barrier> map(sys::Fd fd);

    sys::Fd fd_;
    Shared* shared_ = nullptr;
};

// Binds the calling process to one processor, the index-th of those it may use, counted around. For race
// tests: on a busy machine the scheduler likes to put two parties on one processor, and then they start one
// after the other however good the barrier is.
Result<void> pin_to_processor(unsigned index);

} // namespace holdfast::harness
