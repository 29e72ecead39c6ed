// The shared memory of a storm, and the futexes in it. Internal to the storm.
#pragma once

#include "holdfast/slot.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace holdfast::storm {

constexpr int max_processes = 16;

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 4);

inline void futex_wake(Word& word, int how_many) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, how_many, nullptr, nullptr, 0);
}
// Returns when the word is no longer `value`, or after about 100 ms.
inline void futex_wait(Word& word, std::uint32_t value) {
    timespec bound{.tv_sec = 0, .tv_nsec = 100'000'000};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &bound, nullptr, 0);
}
inline std::int64_t now_ns() {
    timespec at{};
    ::clock_gettime(CLOCK_MONOTONIC, &at);
    return static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
}
inline void spin_ns(std::int64_t span) {
    for (std::int64_t end = now_ns() + span; now_ns() < end;) {
    }
}

enum class Outcome : std::uint32_t { none, owned, held, failed };

struct Worker {
    Word go; // grows when the worker is wanted in a round
    pid_t pid;
    IfHeld policy;
    std::int64_t hold_ns; // of a brief ownership
    Outcome outcome;
    int named_pid;         // whom a "held" named
    std::int64_t began_ns; // before the attempt
    std::int64_t ended_ns; // after the release
    char text[256];        // of a failure
};

struct Arena {
    Word round;                         // the start line: workers wait for it to become their round
    std::atomic<std::int64_t> start_ns; // when those who are on a processor by then set out together
    Word arrived;
    Word decided;  // workers whose attempt has returned
    Word finished; // futex of the coordinator
    Word parties;
    Word hold_until_all_decided;
    Word stop;
    Word in_owner;
    Word most_at_once;
    std::atomic<std::uint64_t> double_owners;
    std::atomic<std::uint64_t> last_epoch;
    std::atomic<std::uint64_t> epoch_errors;
    std::atomic<std::uint64_t> reader_looks;
    std::atomic<std::uint64_t> reader_failures;
    Worker workers[max_processes];

    // An owner is one from here …
    void enter() {
        std::uint32_t owners = in_owner.fetch_add(1) + 1;
        if (owners > 1)
            double_owners.fetch_add(1);
        std::uint32_t most = most_at_once.load();
        while (owners > most && !most_at_once.compare_exchange_weak(most, owners)) {
        }
    }
    // … to here, which is before it gives the slot up.
    void leave() { in_owner.fetch_sub(1); }

    void decide() {
        if (decided.fetch_add(1) + 1 == parties.load())
            futex_wake(decided, max_processes);
    }
    void wait_until_all_decided() {
        for (std::uint32_t so_far = 0; (so_far = decided.load()) < parties.load() && stop.load() == 0;)
            futex_wait(decided, so_far);
    }
};

} // namespace holdfast::storm
