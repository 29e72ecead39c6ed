// Finds the children of a process.
#pragma once

#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <functional>
#include <vector>

namespace holdfast::ending {

// The living children of a process that is held, without those for which `known` is true. Each pidfd is
// opened before the child's parent is read, and the parent's PID is still its own at that time.
std::vector<sys::PidFd> hold_children(const sys::PidFd& parent,
                                      const std::function<bool(pid_t)>& known = nullptr);

// The process itself, its children, and theirs.
std::vector<sys::PidFd> hold_tree(sys::PidFd root);

} // namespace holdfast::ending
