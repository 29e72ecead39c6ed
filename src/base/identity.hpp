// Who a process is, beyond its number. PIDs are reused; a pair of PID and start time collides too, since the
// start time ticks at 10 ms. Never a wall clock, never argv text.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::base {

struct Identity {
    std::string boot_id;      // changes with each boot
    std::uint64_t pid_ns = 0; // inode of the PID namespace the number is meant in
    int pid = 0;
    std::uint64_t start_ticks = 0; // field 22 of /proc/PID/stat
    std::uint64_t pidfd_inode = 0; // unique per process on pidfs (kernel 6.9 and newer); 0 where unknown
    std::string token; // random, chosen by the process itself; empty for processes that are not ours

    bool operator==(const Identity&) const = default;
};

// Whether two sightings are of one process. The pidfd inode decides where both have it; without it boot,
// namespace, number and start ticks must all agree. The token is not compared: an outside look at a process
// cannot see it.
bool same_process(const Identity& a, const Identity& b) noexcept;

} // namespace holdfast::base
