// The table of the supervision machine: what follows from each (phase, trigger), as data. supervision.hpp
// says what it is for; a test runs every cell of it, and an exploration checks what the whole of it promises.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::core {

// Where a helper is in its life. "Held" means that somebody holds it; what the phase says of holders and of
// processes is in `facts_of`.
enum class HelperPhase : std::uint8_t {
    idle,            // nobody holds it, nothing runs
    spawning,        // held; a start was asked for and has not been answered
    abandoned,       // the last hold went while a start was asked for
    starting,        // held; it runs, and is not ready
    starting_unheld, // as starting, with nobody holding it: lingering
    ready,           // held; it serves
    ready_unheld,    // as ready, with nobody holding it: lingering
    cleaning,        // held; it was lost, what it left behind is being ended, then a replacement comes
    backoff,         // held; nothing runs, a replacement waits for its time
    stopping,        // nobody holds it; the stop plan is under way
    stopping_wanted, // as stopping, and somebody came: a new generation follows when nothing is left
    giving_up,       // lost too often; what it left behind is being ended
    failed,          // gave up; nothing runs until somebody says retry, or holds after the cool-down
    closing_spawn,   // shut down while a start was asked for
    closing,         // shut down; the stop plan is under way
    closed,          // shut down; nothing runs, and nothing ever will
};
inline constexpr std::size_t phase_count = 16;

// What can happen, with the questions of counting and time already answered (see classify in
// supervision.cpp).
enum class Trigger : std::uint8_t {
    hold,         // one more hold
    hold_paced,   // the same, before the time at which a start is allowed again
    release,      // one hold less, others remain
    last_release, // the last hold went, and there is no linger
    last_release_linger,
    spawned, // the start asked for has become a process
    spawn_failed,
    spawn_failed_final, // and that was once too often, or can never succeed
    progress,           // a start said something new
    ready,
    steady,     // readiness has held
    lost,       // it exited, stalled, or no longer answers
    lost_final, // and that was once too often
    deaf,       // it runs, and has closed its input: what it was asked before may yet be answered
    deaf_final, // and that was once too often
    replaced,   // somebody asked for another: no failure of its own
    linger_over,
    backoff_over,
    retry,        // somebody says "again"
    retry_unheld, // the same, while nobody holds it
    shutdown,
    tree_gone,       // nothing of this generation is left
    tree_gone_paced, // the same, before the time at which a start is allowed again
    noted,           // counted or out of date: never a reason to act
};
inline constexpr std::size_t trigger_count = 24;

// What a cell asks for, as bits. They are carried out in this order.
enum Ask : std::uint16_t {
    ask_nothing = 0,
    ask_count_failure = 1 << 0, // the machine's own: remember the failure, and from when a start is allowed
    ask_forget = 1 << 1,        // the machine's own: forget failures and pacing
    ask_good_run = 1 << 2,      // the machine's own: the row of failures is over
    ask_fail_in_flight = 1 << 3,
    ask_drain = 1 << 4,   // stop plan: close stdin, let it finish, then TERM, KILL, until nothing is left
    ask_end_now = 1 << 5, // the same without patience: it is dead or wedged
    ask_spawn = 1 << 6,
    ask_arm_linger = 1 << 7,
    ask_arm_backoff = 1 << 8,
    ask_arm_stall = 1 << 9,
    ask_arm_steady = 1 << 10,
    ask_tell_ready = 1 << 11,
    ask_tell_failed = 1 << 12,
    ask_tell_closed = 1 << 13,
};

struct Cell {
    HelperPhase next{};
    std::uint16_t asks = ask_nothing;
    friend bool operator==(const Cell&, const Cell&) = default;
};

using SupervisionTable = std::array<std::array<Cell, trigger_count>, phase_count>;

// The one table. A parameter of step() all the same, so that a test can show what a wrong one does.
const SupervisionTable& supervision_table() noexcept;

enum class Holders : std::uint8_t { none, some, any };
enum class Process : std::uint8_t { none, asked, running, ending };

// Which timers may be armed in a phase: all others are cancelled on entering it.
enum TimerBit : std::uint8_t { linger_bit = 1, backoff_bit = 2, stall_bit = 4, steady_bit = 8 };

struct PhaseFacts {
    std::string_view name;
    Holders holders;
    Process process;
    std::uint8_t timers;
};

const PhaseFacts& facts_of(HelperPhase phase) noexcept;
std::string_view name_of(HelperPhase phase) noexcept;
std::string_view name_of(Trigger trigger) noexcept;

} // namespace holdfast::core
