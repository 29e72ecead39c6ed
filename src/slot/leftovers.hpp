// Ending what a dead owner left behind.
#pragma once

#include "holdfast/values.hpp"
#include "slot/door.hpp"
#include "sys/pidfd.hpp"

#include <vector>

namespace holdfast::slot {

// The processes that hold life while the owner byte is free. Inside the door such a process is a leftover,
// and stays one: a starter would have come through the door. Each is held by a pidfd that was opened before
// it was checked. `own_waiter`: our own process that waits for life, which holds it from the moment it is
// granted; 0 for none.
std::vector<sys::PidFd> hold_leftovers(const SlotLocation& location, const Door& inside, pid_t own_waiter);

// True but for root in another user's directory: there a process of a third user may have been handed the
// descriptor by one who wants it killed. It is named, and left to root to judge.
bool is_of_the_slots_user(const SlotLocation& location, pid_t pid);

// TERM and CONT to each through its pidfd.
void ask_all(const std::vector<sys::PidFd>& processes);

// KILL to each; but a keeper is told to end its tree at once, and then itself: it alone knows those of its
// tree that hold nothing, and killed it would leave them behind.
void kill_all(const std::vector<sys::PidFd>& processes);

} // namespace holdfast::slot
