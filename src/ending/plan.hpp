// How processes are ended, as a value.
#pragma once

#include "core/stop_plan.hpp"

namespace holdfast::ending {

// The time from KILL until the survivors are named. It is long because a kernel that is short of memory needs
// time for the last bytes of a large process.
inline constexpr base::Millis default_patience{10'000};

struct Plan {
    core::StopPlan stages;
    base::Millis patience = default_patience; // from KILL to giving up
    // How long to search for a process that is there and that no finder shows, and the pause between two
    // walks.
    base::Millis search{300};
    base::Millis search_pause{1};
    // A process is ended together with all that is below it.
    bool trees = true;
    // Stop all processes before the first is killed. A stopped process cannot fork while the walk goes on, so
    // the walk finds everything. Needed where an orphan cannot be found again.
    bool freeze = false;
    // A process that is started during the grace may use the rest of it. When this is false, such a process
    // is killed as soon as those that were asked are gone.
    bool share_grace = false;
    // A keeper is not killed but told to end its tree at once. It alone knows the members of its tree that
    // hold nothing.
    bool tell_keepers = false;
    // Keep a pidfd of each process until it has ended. A subreaper sets this to false: it hears of every end
    // by itself, its tree may have more processes than it may open descriptors, and it decides when the end
    // is reached.
    bool hold = true;
};

// TERM and CONT, the grace, KILL. With `now` only KILL.
core::StopPlan ask_then_kill(base::Millis grace = core::default_grace, bool now = false);

// For processes that carry no mark of ours, and all that is below them. An orphan of theirs cannot be found
// again.
Plan unmarked_trees(base::Millis grace, base::Millis patience, bool now = false);

// For everything below a subreaper (ending/tree.hpp).
Plan subreaper_plan(core::StopPlan stages);

} // namespace holdfast::ending
