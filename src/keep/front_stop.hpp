// Stopping a front from another process: it was asked, and has its helper's own stop plan to carry out.
#pragma once

#include "core/stop_plan.hpp"
#include "holdfast/values.hpp"

#include <cstdint>
#include <optional>

namespace holdfast::keep {

struct FrontPatience {
    core::StopPlan plan;               // of the helper, as its entry says
    std::optional<base::Millis> grace; // from asking to "at once", when that is to be sooner than the plan
    std::int64_t asked_at = 0;         // boot time in ms
};

enum class FrontEnd {
    gone, // it has ended, or was not there; if a keeper was, it is done too
    deaf, // it does not hear signals: only KILL is left, upon which its keeper ends the tree
};

// Waits for the owner of `entry` until its plan is over, or the grace; then tells it "at once", and waits for
// that. One that hears is never called deaf, however long its tree takes to die.
FrontEnd wait_for_front(const SlotLocation& entry, const FrontPatience& patience);

} // namespace holdfast::keep
