// Looking at a slot: the kernel's answer and the owner's words, put together.
#pragma once

#include "core/record.hpp"
#include "holdfast/slot.hpp"
#include "sys/lock_file.hpp"

#include <optional>
#include <string>

namespace holdfast::slot {

std::optional<core::Record> read_record(const SlotLocation& location);

// SlotInfo from what the kernel said and what the record says. Leftovers are looked for when orphaned. Without
// `ask_owner` nobody looks whether the owner is stopped; it counts as not stopped.
SlotInfo describe(const SlotLocation& location, const sys::LockSight& sight,
                  const std::optional<core::Record>& record, bool ask_owner = true);

// "process 4711 (node server.js), ready for 3 min", for messages.
std::string owner_for_people(const SlotInfo& info);

} // namespace holdfast::slot
