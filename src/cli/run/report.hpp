// The last step of `holdfast run`: the message, and the exit code.
#pragma once

#include "cli/run/plan.hpp"
#include "keep/front.hpp"

namespace holdfast::cli {

int report(const RunPlan& plan, const keep::FrontResult& result);

// --if-held attach found this owner.
int report_owner(const SlotInfo& owner, bool as_json);

} // namespace holdfast::cli
