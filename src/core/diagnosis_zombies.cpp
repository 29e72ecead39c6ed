// Processes that ended and were never collected, by the parent that owes it.
#include "base/text.hpp"
#include "core/diagnosis_parts.hpp"

#include <algorithm>
#include <map>

namespace holdfast::core {

std::vector<Finding> find_zombies(const Case& the) {
    std::map<int, std::vector<const base::ProcessFacts*>> by_parent;
    for (const base::ProcessFacts& process : the.snapshot.processes) {
        // Every process is a zombie for a moment: only one that stayed so over the whole window counts.
        if (process.state != 'Z' || !process.activity.measured)
            continue;
        if (the.settings.in_scope && !the.settings.in_scope(process.pid()))
            continue;
        by_parent[process.ppid].push_back(&process);
    }
    std::vector<Finding> out;
    for (const auto& [parent_pid, zombies] : by_parent) {
        const base::ProcessFacts* parent = the.lineage.find(parent_pid);
        if (!parent || parent->inner_namespace)
            continue;
        Finding finding;
        finding.kind = FindingKind::zombie;
        finding.proven = true;
        finding.identity = parent->identity;
        finding.command = command_of(*parent, the);
        finding.uid = parent->uid;
        finding.host = parent_pid;
        finding.host_command = finding.command;
        for (const base::ProcessFacts* zombie : zombies) {
            finding.pids.push_back(zombie->pid());
            finding.age_ms = std::max(finding.age_ms, zombie->age_ms);
        }
        std::size_t count = zombies.size();
        finding.rule = "they ended, and their parent does not collect them";
        finding.evidence = {base::cat(name_pid(*parent), " has ", count, count == 1 ? " zombie" : " zombies",
                                      " that stayed while we looked; the first is ",
                                      name_pid(*zombies.front())),
                            "only the parent can collect them, or its end"};
        out.push_back(std::move(finding));
    }
    return out;
}

} // namespace holdfast::core
