// From a slot to the helper that `holdfast run` has put behind it, in whatever profile that is.
#pragma once

#include "base/helper_facts.hpp"
#include "holdfast/values.hpp"
#include "slot/blocked.hpp"

#include <vector>

namespace holdfast::slot {

struct BehindSlot {
    SlotLocation entry;
    base::HelperFacts facts;
};

// The entry that the slot's owner of `epoch` named in its record; at most one. The record is believed as far
// as it leads to an entry in a directory of ours that says the same of itself.
std::vector<BehindSlot> named_behind(const SlotLocation& slot, std::uint64_t epoch);

// The same, and each entry of which one of the slot's leftovers holds the life: an owner may have been killed
// before it could name its own. A walk through all descriptors.
std::vector<BehindSlot> all_behind(const SlotLocation& slot, std::uint64_t epoch);

// For what may be said of them.
std::vector<LostTree> lost_trees(const std::vector<BehindSlot>& behind);

} // namespace holdfast::slot
