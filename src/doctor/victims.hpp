// A tree of processes held by pidfds, to be ended as a whole.
#pragma once

#include "base/identity.hpp"
#include "sys/clock.hpp"
#include "sys/pidfd.hpp"

#include <string>
#include <vector>

namespace holdfast::doctor {

struct Victim {
    sys::PidFd process;
    pid_t root = 0;
    std::string command;
    std::uint64_t memory = 0;
    bool refused = false; // the kernel did not let us signal it
};

// Adds to `victims` all present descendants of those in it that are not there yet. Each is held first and
// then seen to be the child of one that is held and alive, so a reused number is never taken for a
// descendant. Returns how many were new.
std::size_t add_descendants(std::vector<Victim>& victims);

// The two ends of stdio as the kernel names them ("pipe:[123]"), for add_heirs; empty ones for what is no
// channel.
std::vector<std::string> stdio_names(pid_t pid);

// Adds to `victims` processes of our user that were born at `since_ticks` or later and have one of these dead
// channels as their stdin or stdout: what a member of the tree started while it was ending, and left to
// another parent.
std::size_t add_heirs(std::vector<Victim>& victims, const std::vector<std::string>& channels,
                      std::uint64_t since_ticks);

std::uint64_t resident_bytes(pid_t pid);
std::uint64_t ticks_now(); // in the unit of start ticks

void signal_all(std::vector<Victim>& victims, int signal);

// True when all have ended before the deadline.
bool all_ended(const std::vector<Victim>& victims, const sys::Deadline& deadline);

} // namespace holdfast::doctor
