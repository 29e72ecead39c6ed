// Who holds the life of a slot: found by the lock their descriptors carry, as the kernel lists it.
#pragma once

#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace holdfast::sys {

// Processes with a descriptor that carries the write lock on byte 0 of the file at `path`, this process left
// out. Processes of other users and of other PID namespaces cannot be seen.
std::vector<pid_t> find_life_holders(const std::string& path);

// Whether this one process holds it now. Ask after its pidfd was opened.
bool holds_life(pid_t pid, const std::string& path);

// The files whose byte 0 this process holds so, as far as they still have the names they were opened under.
std::vector<std::string> lives_held_by(pid_t pid);

} // namespace holdfast::sys
