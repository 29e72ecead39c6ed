// An owner that is stopped (SIGSTOP, Ctrl-Z) keeps everybody waiting who depends on it, and nothing but
// SIGCONT helps: it holds its locks, and it is alive.
#pragma once

#include "holdfast/result.hpp"
#include "holdfast/values.hpp"

namespace holdfast::slot {

// Continues the owner of that epoch when it is stopped; never any other process, and never one that a
// debugger holds. True: it was stopped and goes on. False: it is not stopped, or no longer the owner. Errors:
// not_permitted, unreachable (another PID namespace), and what looking at the slot may give.
Result<bool> wake_owner(const SlotLocation& location, std::uint64_t epoch);

} // namespace holdfast::slot
