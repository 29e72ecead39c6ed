// What the words of `holdfast stop` mean: helpers, slots, registered processes.
#pragma once

#include "base/identity.hpp"
#include "cli/shared/options.hpp"
#include "core/stop_plan.hpp"
#include "ending/left_behind.hpp"
#include "holdfast/result.hpp"
#include "holdfast/values.hpp"
#include "slot/blocked.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

// One thing to stop: a slot, or a helper's entry, which is a slot under a fresh id.
struct StopTarget {
    SlotLocation location;
    std::string shown;
    std::string label;       // of a helper
    std::uint64_t epoch = 0; // what was found and is meant; whoever comes after it is left alone
    // `holdfast run` stands before it, and knows how to end a tree: by this plan, or at once.
    std::optional<core::StopPlan> plan = {};
    // The slot by which a helper was named, as it was found: somebody may wait for it.
    std::optional<SlotInfo> slot = {};
    std::string slot_directory;
    // Both guards were killed: nobody is there to be asked.
    std::optional<ending::DeadEntry> abandoned = {};
    std::vector<slot::LostTree> lost = {}; // of a helper: to say who may be left of it
    // A process that its host registered. The entry's lock is the *host's*, who is not to be ended: the
    // process is meant.
    std::optional<base::Identity> registered = {};
};

struct StopTargets {
    std::vector<StopTarget> found;
    std::vector<std::string> missing; // words that name nothing
};

// Errors: invalid_argument (nothing is to be stopped then), and what reading them gives.
Result<StopTargets> find_stop_targets(const Arguments& arguments);

} // namespace holdfast::cli
