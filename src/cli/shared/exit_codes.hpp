// The exit codes of `holdfast`; docs/exit-codes.md says the same to people. A command run by `holdfast run`
// keeps its own.
#pragma once

#include "holdfast/result.hpp"

namespace holdfast::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_not_running = 3;    // status: nobody owns it; memory: there is none
inline constexpr int exit_orphaned_state = 4; // status: its owner is dead, leftovers live
inline constexpr int exit_usage = 64;
inline constexpr int exit_bad_data = 65; // memory: a line that cannot be imported, or a damaged store
inline constexpr int exit_held = 69;     // a healthy owner exists. Never 1: a service manager would loop
inline constexpr int exit_internal = 70;
inline constexpr int exit_leftovers = 71;     // processes are left that could not be ended, or were not to be
inline constexpr int exit_too_many = 72;      // too many takeovers, or too many restarts
inline constexpr int exit_cannot_create = 73; // disk full, unsafe directory, no such place
inline constexpr int exit_timed_out = 75;     // or the host went first
inline constexpr int exit_unreachable = 76;   // the owner is in another PID namespace
inline constexpr int exit_not_permitted = 77;
inline constexpr int exit_lost = 78; // the lock file was wiped away
inline constexpr int exit_cannot_execute = 126;
inline constexpr int exit_not_found = 127;

int exit_code_of(const Error& error) noexcept;

} // namespace holdfast::cli
