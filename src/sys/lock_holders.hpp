// Who holds the life of a slot: found by the lock their descriptors carry, as the kernel lists it.
#pragma once

#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace holdfast::sys {

// Processes with a descriptor that carries the write lock on byte 0 of the file at `path`, this process left
// out. What is_hidden(), and processes of other PID namespaces, cannot be seen.
std::vector<pid_t> find_life_holders(const std::string& path);

// Whether this one process holds it now. Ask after its pidfd was opened.
bool holds_life(pid_t pid, const std::string& path);

// Processes that carry a read lock there: lock waiters that were granted theirs and have not dropped it yet.
// Each by a pidfd that was opened before it was asked.
std::vector<PidFd> hold_life_readers(const std::string& path);

// It lives, and this user may not see its descriptors: whether it holds anything cannot be told.
bool is_hidden(pid_t pid);

// The files whose byte 0 this process holds so, as far as they still have the names they were opened under.
std::vector<std::string> lives_held_by(pid_t pid);

} // namespace holdfast::sys
