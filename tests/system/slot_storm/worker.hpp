// The processes of a storm. Internal to the storm.
#pragma once

#include "slot_storm/arena.hpp"
#include "slot_storm/storm.hpp"

namespace holdfast::storm {

// Runs until arena.stop; called in a forked child, never returns.
[[noreturn]] void run_worker(Arena& arena, int index, Algorithm algorithm, const SlotLocation& slot);
[[noreturn]] void run_reader(Arena& arena, const SlotLocation& slot);

// Writes what a dead owner of the baseline would have left.
void leave_stale_pidfile(const SlotLocation& slot);

} // namespace holdfast::storm
