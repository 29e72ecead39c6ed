#include "ending/plan.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::ending {

using core::StopAction;

core::StopPlan ask_then_kill(base::Millis grace, bool now) {
    core::StopPlan out;
    // A host may pass the largest number there is: the moment of KILL must not wrap around into the past.
    if (!now)
        out.stages.push_back({.action = StopAction::terminate, .wait = std::min(grace, base::max_duration)});
    out.stages.push_back({.action = StopAction::kill, .wait = base::Millis{0}});
    return out;
}

Plan unmarked_trees(base::Millis grace, base::Millis patience, bool now) {
    return {.stages = ask_then_kill(grace, now), .patience = patience, .trees = true, .freeze = true};
}

Plan subreaper_plan(core::StopPlan stages) {
    return {.stages = std::move(stages), .trees = false, .hold = false};
}

} // namespace holdfast::ending
