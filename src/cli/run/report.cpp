#include "cli/run/report.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "core/stop_plan.hpp"
#include "slot/slot_json.hpp"
#include "json/json_write.hpp"

namespace holdfast::cli {

int report_owner(const SlotInfo& owner, bool as_json) {
    if (as_json)
        return answer_json(json::to_text(slot::json_of(owner)));
    if (!owner.address.empty())
        return answer(base::printable(owner.address) + "\n");
    if (owner.owner_in_other_namespace)
        return answer("in another PID namespace\n");
    return answer(base::cat("pid ", owner.owner_pid, '\n'));
}

int report(const RunPlan& plan, const keep::FrontResult& result) {
    using core::StopReason;
    if (result.error)
        return fail_with(*result.error);
    if (!result.survivors.empty()) {
        for (const std::string& survivor : result.survivors)
            complain(base::cat(survivor, " did not end after KILL"));
        return exit_leftovers;
    }
    if (result.gave_up) {
        complain(base::cat("\"", plan.label,
                           "\" failed too often and is not started again; its last exit status was ",
                           result.status, ". Look at it with: holdfast events"));
        return result.status ? result.status : exit_too_many;
    }
    if (result.reason == StopReason::slot_lost) {
        complain(base::cat("the slot \"", plan.slot->name,
                           "\" was wiped away; the command was ended, since another may own that name now"));
        return exit_lost;
    }
    if (result.reason == StopReason::idle)
        complain(base::cat("\"", plan.label, "\" did nothing for ", plan.limits.idle, " and was ended"));
    if (result.reason == StopReason::max_life)
        complain(base::cat("\"", plan.label, "\" ran for ", plan.limits.max_life,
                           ", which is all it was given, and was ended"));
    if (result.reason == StopReason::memory)
        complain(base::cat("\"", plan.label, "\" used more than ", plan.limits.memory, " and was ended"));
    return result.status;
}

} // namespace holdfast::cli
