// A second process of this program, without a second exec: an exec costs half a millisecond, a fork of a
// small program a tenth of that.
#pragma once

#include "holdfast/result.hpp"
#include "sys/pidfd.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sys {

struct ForkSpec {
    std::vector<std::pair<int, int>> fds; // (number here, number there); those there are free here
    std::vector<std::string> env;         // "NAME=value": what getenv and `environ` give there
};

// Runs `work` in a child and ends the child with its result. Only for a program with one thread, and never in
// a library: a fork copies the page tables of its host.
//
// The child is what an exec would have made of it. Signals are as after spawn(). Of our descriptors it has
// those of `fds`, 0 to 2, and what is not close-on-exec. Locks and lock files stay with the parent (see
// lock_file.hpp).
Result<PidFd> fork_worker(const ForkSpec& spec, const std::function<int()>& work);

} // namespace holdfast::sys
