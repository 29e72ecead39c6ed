// The supervision of one helper as a pure machine: step(state, event, now) gives the next state and what to
// do. No clock, no process, no thread: whoever drives it reads the clock, throws the dice and carries out the
// effects.
//
// What it promises, whatever the order of events (tests/unit/supervision_explore_test.cpp goes through them
// all):
//  - Zero holds, zero processes (G5): a start is asked for only while somebody holds. After the last release
//    nothing starts, and what runs is ended, after the linger if there is one.
//  - One at a time (G6): a new generation is asked for only when nothing of the older one is left, and each
//  lost
//    generation that is still held is followed by exactly one replacement, at the pace of core/backoff.hpp,
//    or by `failed`, which says why and how to go on.
//  - Patience (G7): a start whose progress moves is never ended by a timer; one that stalls is.
//  - Generations: each start has a number, one more than the last. News of any other generation change
//  nothing,
//    so who wants generation n replaced when n + 1 is there joins n + 1.
//
// What it expects of its driver: `spawned` or `spawn_failed` once for each spawn effect, before anything else
// of that generation; `tree_gone` once nothing of a spawned generation is left (whether or not it was told to
// end it).
#pragma once

#include "base/moment.hpp"
#include "core/backoff.hpp"
#include "core/supervision_table.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::core {

using Generation = std::uint64_t;

struct SupervisionPolicy {
    BackoffPolicy backoff;
    std::chrono::milliseconds linger{0};     // how long a helper outlives its last hold
    std::chrono::milliseconds stall{30'000}; // the longest silence of a start; 0: endless patience
    std::uint32_t health_misses = 3;         // so many in a row mean wedged; 0: never
    std::chrono::milliseconds cool_down{
        60'000}; // after giving up, a new hold may try again then; 0: only retry
};

enum class FailureKind : std::uint8_t {
    none,
    exited,
    killed,
    spawn_failed,
    stalled,
    unanswered,
    input_closed,
    replaced,    // no failure: it is never counted, but it is why a generation went
    keeper_gone, // whoever guarded it was killed
};

// Why a generation was lost. `detail` is the exit status, the signal, or the errno.
struct Failure {
    FailureKind kind = FailureKind::none;
    int detail = 0;
};

enum class EventKind : std::uint8_t {
    hold,
    release,
    spawned,
    spawn_failed,
    progress, // value: anything that differs when progress was made
    ready,
    exited,
    answered, // it answered something: it is not wedged
    health_missed,
    input_closed, // it closed its stdin, and lives on: nothing can be asked any more
    replace, // somebody wants another than this generation; one that is being started is replaced once it
             // runs
    timer,
    retry,
    shutdown,
    tree_gone,
};

enum class Timer : std::uint8_t { linger, backoff, stall, steady };
inline constexpr std::size_t timer_count = 4;

struct Event {
    EventKind kind{};
    Generation generation = 0; // of all that tell about a process
    std::uint64_t value = 0;   // progress
    Failure failure{};         // exited, spawn_failed
    bool permanent = false;    // spawn_failed: trying again cannot help (no such program)
    Timer timer{};

    static Event of(EventKind kind, Generation generation = 0) {
        return {.kind = kind, .generation = generation};
    }
    static Event of_timer(Timer timer) { return {.kind = EventKind::timer, .timer = timer}; }
    static Event of_progress(Generation generation, std::uint64_t value) {
        return {.kind = EventKind::progress, .generation = generation, .value = value};
    }
    static Event of_exit(Generation generation, Failure failure) {
        return {.kind = EventKind::exited, .generation = generation, .failure = failure};
    }
    static Event of_spawn_failed(Generation generation, int error, bool permanent) {
        return {.kind = EventKind::spawn_failed,
                .generation = generation,
                .failure = {FailureKind::spawn_failed, error},
                .permanent = permanent};
    }
};

enum class EffectKind : std::uint8_t {
    spawn,          // start `generation`
    drain,          // stop plan for `generation`: stdin closed, time to finish, then the rest
    end_now,        // end what is left of `generation`, without patience
    fail_in_flight, // requests sent to `generation` fail: "transport closed, generation n"
    arm,            // `timer` at `due`, in place of an earlier one
    cancel,         // `timer`
    tell_ready,     // wake who waits for readiness
    tell_failed,    // wake them with describe_failure()
    tell_closed,
};

struct Effect {
    EffectKind kind{};
    Generation generation = 0;
    Timer timer{};
    base::Moment due{0};
};

// At most a handful, in the order in which they are to be carried out.
class Effects {
public:
    void add(Effect effect) { items_[size_++] = effect; }
    [[nodiscard]] const Effect* begin() const { return items_.data(); }
    [[nodiscard]] const Effect* end() const { return items_.data() + size_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool has(EffectKind kind) const {
        for (const Effect& effect : *this)
            if (effect.kind == kind)
                return true;
        return false;
    }

private:
    std::array<Effect, 24> items_{};
    std::size_t size_ = 0;
};

struct Supervision {
    HelperPhase phase = HelperPhase::idle;
    std::uint32_t holds = 0;
    Generation generation = 0; // of the latest start; 0 before the first
    Generation unwanted = 0;   // somebody asked for its replacement while it was being started
    Backoff backoff;
    base::Moment not_before{0}; // no start before this, unless somebody says retry
    std::array<base::Moment, timer_count> due{base::never, base::never, base::never, base::never};
    std::uint64_t progress = 0;      // the latest value
    std::uint32_t health_misses = 0; // in a row
    Failure failure{};               // the latest
    std::uint32_t failures_in_a_row = 0;
    std::uint32_t failures_in_window = 0;
};

struct Step {
    Supervision state;
    Effects effects;
};

// `dice` in [0, 1) is the jitter of this step.
Step step(const Supervision& state, const Event& event, base::Moment now, double dice,
          const SupervisionPolicy& policy, const SupervisionTable& table = supervision_table());

// Which column of the table an event is, in this state. Public for the test that runs every cell.
Trigger classify(const Supervision& state, const Event& event, base::Moment now, double dice,
                 const SupervisionPolicy& policy);

// "it exited with status 3", "it could not be started (errno 2)".
std::string describe(Failure failure);

// For a person, when it gave up: what happened, how often, and how to go on.
std::string describe_failure(const Supervision& state, const SupervisionPolicy& policy);

} // namespace holdfast::core
