#include "cli/run/keep.hpp"

#include "base/text.hpp"
#include "cli/shared/print.hpp"
#include "records/paths.hpp"
#include "registry/helper_logs.hpp"
#include "slot/ownership.hpp"
#include "sys/cgroup.hpp"
#include "sys/proc.hpp"

namespace holdfast::cli {

namespace {

base::HelperFacts facts_of(const RunPlan& plan, const std::optional<sys::PidFd>& host) {
    const keep::KeepPolicy& keep = plan.front.keep;
    base::HelperFacts facts;
    facts.label = plan.label;
    facts.task = plan.task;
    facts.stop_plan = core::to_text(keep.plan);
    facts.spare = keep.spare;
    facts.slot = plan.slot ? plan.slot->name : "";
    // Before there is one: whoever finds this entry after a double SIGKILL must know where to look.
    if (keep.containment == keep::Containment::automatic || keep.containment == keep::Containment::cgroup)
        facts.cgroup_place = sys::Cgroup::own_place();
    if (host) {
        facts.host_pid = host->pid();
        facts.host_command = sys::command_line_for_people(facts.host_pid);
        facts.host = sys::identify(*host).value_or(base::Identity{});
    }
    return facts;
}

Result<registry::Entry> make_entry(const RunPlan& plan, const std::optional<sys::PidFd>& host) {
    const base::HelperFacts facts = facts_of(plan, host);
    const std::vector<std::string>& command = plan.front.keep.command;
    auto entry = registry::Entry::create(plan.places.helpers, command, plan.session, facts);
    if (entry || !may_be_unlisted(plan, entry.error()))
        return entry;
    complain(base::cat("warning: \"", plan.label, "\" is not listed: ", entry.error().message,
                       ". It is guarded as always, but ps, stop and logs do not know it; should this process "
                       "and its keeper both be killed at once, its processes stay, and no later start ends "
                       "them"));
    return registry::Entry::unlisted(plan.places.helpers, command, plan.session, facts);
}

// The path of the copy of its stderr; empty without --log.
Result<std::string> make_log(const RunPlan& plan, registry::Entry& entry) {
    if (!plan.with_log)
        return std::string();
    auto path = registry::place_for_log(plan.places, entry.id());
    if (path)
        (void)entry.update([&](base::HelperFacts& changed) { changed.log = *path; });
    return path;
}

// A contender that finds the slot without its guards learns from the record where to look for the tree.
void tell_entry(Ownership& slot, const SlotLocation& entry, bool at_once) {
    slot.state()->record.entry = records::lock_path(entry);
    if (at_once) // otherwise the word that it is ready follows, and takes it along
        (void)slot.state()->write_record();
}

} // namespace

Result<keep::FrontResult> keep_command(const RunPlan& plan, Entered& entered,
                                       const registry::EventLog& events) {
    auto entry = make_entry(plan, entered.host);
    if (!entry)
        return std::unexpected(entry.error());
    auto log = make_log(plan, *entry);
    if (!log)
        return std::unexpected(log.error());
    if (entered.slot)
        tell_entry(*entered.slot, entry->ownership().location(),
                   plan.front.readiness == keep::Readiness::notify);
    // A long wait lies behind us, perhaps. Nothing is started for nobody.
    if (entered.wanted && entered.wanted->gone())
        return host_went(*plan.slot);
    return keep::run_front(plan.front, {.entry = *entry,
                                        .slot = entered.slot ? &*entered.slot : nullptr,
                                        .events = events,
                                        .host = std::move(entered.host),
                                        .pid_file = std::move(entered.pid_file),
                                        .log = std::move(*log)});
}

} // namespace holdfast::cli
