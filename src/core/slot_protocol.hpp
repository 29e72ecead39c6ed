// The contender's side of the slot protocol as a table (docs/slot-protocol.md). Pure: what to do next, given
// where we are and what was seen. src/slot/contender.cpp carries the effects out;
// tests/system/slot/cells_test.cpp sees that every cell is run.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace holdfast::core {

enum class SlotStep {
    door,             // waiting for the door (byte 2)
    inside,           // holding the door, asking bytes 1 and 0
    leftovers,        // holding the door; a dead owner's processes hold life and were sent TERM
    leftovers_killed, // the same, after KILL
    waiting,          // outside; an owner or its leftovers live; waiting for life to come free
    patient,          // outside, under replace; the owner is starting and moves, or it is not yet clear
    asked,            // TERM was sent
    killed,           // KILL was sent
    owner,            // end: this process owns the slot
    left,             // end: it does not
};
inline constexpr std::size_t step_count = 10;

enum class Seen {
    door_granted,
    file_replaced,  // the path shows another file than the one we opened
    nobody,         // bytes 1 and 0 free
    leftovers_wait, // byte 1 free, byte 0 held; the policy is to wait for them
    leftovers_end,  // the same; the policy is replace: end them
    owner_let_be,   // an owner, and the policy is to leave it: held or attach
    owner_wait,     // an owner, and the policy is to wait
    owner_patient,  // an owner under replace that must not be touched yet
    owner_may_be_asked,
    owner_stalled,   // an owner under replace that starts, and stands still
    owner_newer,     // an owner of a newer epoch than the one we meant
    owner_forbidden, // an owner we may not signal: another namespace, our own process, too many takeovers
    owner_gone,      // looking again from outside: byte 1 is free
    life_free,       // the kernel granted what we waited for on byte 0
    time_to_look,    // the owner's record changed, its process ended, or a timer for looking again
    grace_over,
    deadline,
};
inline constexpr std::size_t seen_count = 17;

enum class Do {
    nothing,
    lock_door,      // ask for the door
    reopen,         // drop everything, open the lock file again, ask for the door
    look_inside,    // ask bytes 1 and 0 while holding the door
    take,           // lock bytes 1 and 0, write epoch and record, leave the door
    term_leftovers, // TERM and CONT to all that hold life, then wait for it
    kill_leftovers,
    leave_door_report, // leave the door and end with the reason found
    leave_door_wait,   // leave the door, wait for life from outside
    leave_door_watch,  // leave the door, watch the owner until it may be asked
    leave_door_term,   // leave the door, TERM and CONT to the owner
    look_outside,      // ask about the owner again, without the door
    see_to_leftovers,  // have those ended that nobody guards, and go on waiting for life
    keep_watching,
    term_owner,
    kill_owner,
    go_to_door, // stop waiting; ask for the door
    report,     // end with the reason found
    never,      // cannot happen; a bug if it does
};

struct SlotCell {
    SlotStep next = SlotStep::left;
    Do effect = Do::never;
    bool operator==(const SlotCell&) const = default;
};

using ProtocolTable = std::array<std::array<SlotCell, seen_count>, step_count>;

// The table itself. A cell with Do::never marks what the kernel's locks make impossible.
extern const ProtocolTable slot_protocol;

inline SlotCell protocol_step(SlotStep step, Seen seen) {
    return slot_protocol[static_cast<std::size_t>(step)][static_cast<std::size_t>(seen)];
}

std::string_view name_of(SlotStep step) noexcept;
std::string_view name_of(Seen seen) noexcept;

} // namespace holdfast::core
