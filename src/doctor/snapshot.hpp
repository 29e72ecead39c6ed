// One look at all processes of the machine, and a second one at those that matter.
#pragma once

#include "base/process_facts.hpp"
#include "holdfast/result.hpp"

#include <chrono>
#include <unordered_set>

namespace holdfast::doctor {

// Reads /proc once, and asks the kernel about the other ends of pipes and sockets. Writes nothing, signals
// nobody. A process that ends meanwhile is left out; one that cannot be read is there with what everybody may
// see.
Result<base::Snapshot> take_snapshot();

// Looks again at `pids` after `window` and fills in what they did meanwhile. Zombies of PID 1 get
// `zombie_patience` in all: an init may collect on a timer. A process that ended, or changed its parent or
// session, stays unmeasured.
void measure_activity(base::Snapshot& snapshot, const std::unordered_set<int>& pids,
                      std::chrono::milliseconds window, std::chrono::milliseconds zombie_patience);

} // namespace holdfast::doctor
