// Looking at a slot: the kernel's answer and the owner's words, put together.
#pragma once

#include "base/record.hpp"
#include "holdfast/values.hpp"
#include "sys/lock_file.hpp"

#include <optional>
#include <string>

namespace holdfast::slot {

// SlotInfo from what the kernel said and what the record says. Leftovers are looked for when orphaned.
// Without `ask_owner` nobody looks whether the owner is stopped; it counts as not stopped.
SlotInfo describe(const SlotLocation& location, const sys::LockSight& sight,
                  const std::optional<base::Record>& record, bool ask_owner = true);

// "process 4711 (node server.js), ready for 3 min", for messages.
std::string owner_for_people(const SlotInfo& info);

} // namespace holdfast::slot
