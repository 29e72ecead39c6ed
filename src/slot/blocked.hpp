// Saying who holds a slot's life although its owner is dead, and why that could not be ended.
#pragma once

#include "base/identity.hpp"
#include "holdfast/values.hpp"

#include <string>
#include <vector>

namespace holdfast::slot {

// What is known of a helper whose guards are dead, to find those of its tree that may not be inspected.
struct LostTree {
    std::string id;
    base::Identity helper;
    base::Identity keeper;
};

// "process 12 (sleep 60)", for each, with the reason for which it lives on where there is one.
std::string leftovers_for_people(const std::vector<Leftover>& leftovers);

// The same of those that hold life. Where none of the holders may be inspected:
// that, the processes that it may be, and the command with which root ends it.
std::string holders_for_people(const SlotLocation& location, const std::vector<LostTree>& lost = {});

// The whole sentence, for a slot that stays shut.
std::string blocked_for_people(const SlotLocation& location, const std::vector<LostTree>& lost = {});

} // namespace holdfast::slot
