// What a round looked like that did not come to its end. Internal to the storm.
#pragma once

#include "slot_storm/arena.hpp"

#include <string>

namespace holdfast::storm {

// Where each party stands (its state, its system call, and those of its lock waiters), and the kernel's locks
// on the slot's file. For people: read while everybody still stands there.
std::string describe_hung_round(const Arena& arena, const std::string& directory);

} // namespace holdfast::storm
