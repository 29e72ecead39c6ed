// Guards that a signal has stopped while their host died: a death watch of theirs never fires, and they hold
// their locks, so nobody takes their place. Nothing but SIGCONT helps.
#pragma once

#include "base/helper_facts.hpp"
#include "holdfast/values.hpp"
#include "slot/tending.hpp"

#include <cstdint>

namespace holdfast::slot {

// Whether the host that this record names has ended. False when it names none (`--host none`), or one that
// cannot be judged from here.
bool host_is_dead(const base::HelperFacts& facts);

// Continues the front that owns the entry in that epoch, and its keeper, those of them that are stopped. The
// caller knows that the host is dead: what they do then is to end their tree.
void continue_guards(const SlotLocation& entry, std::uint64_t epoch, const base::HelperFacts& facts);

// For the owner of a slot in that epoch: as Purpose::look_after_owner wants it.
OwnersHost look_after_owner(const SlotLocation& slot, std::uint64_t epoch);

} // namespace holdfast::slot
