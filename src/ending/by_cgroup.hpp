// Ends the processes in the cgroup that a dead keeper made.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::ending {

struct ClearedCgroup {
    bool all = true;          // nothing is left there
    std::vector<pid_t> ended; // the processes that were inside
};

// Ends everything that an earlier keeper of this id left inside the cgroup that it made in `place` (its own
// place, which need not be ours), and removes the cgroup. A process for which `spared` is true is moved out
// instead. `spared` may be empty.
ClearedCgroup clear_cgroup(const std::string& place, const std::string& id,
                           const std::function<bool(pid_t)>& spared);

} // namespace holdfast::ending
