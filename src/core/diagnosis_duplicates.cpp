// The same helper more than once: always suspected, since two may be wanted.
#include "core/diagnosis_parts.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <map>

namespace holdfast::core {

namespace {

bool is_channel(const Channel& channel) {
    return channel.kind == ChannelKind::pipe || channel.kind == ChannelKind::unix_socket;
}

// The one process that both writes its stdin and reads its stdout: that makes it a helper, and tells it from
// a member of a pipeline, which has one neighbour on each side. 0 when there is none.
int host_of(const ProcessFacts& process, const Case& the) {
    if (!process.descriptors_known || !is_channel(process.input) || !is_channel(process.output))
        return 0;
    auto writers = the.lineage.writers(process.input);
    auto readers = the.lineage.readers(process.output);
    int found = 0;
    for (int pid : writers) {
        if (!readers.contains(pid) || the.lineage.is_ancestor(process.pid(), pid))
            continue;
        if (pid == process.ppid)
            return pid;
        // Among several, the nearest: ancestors rather than strangers, the younger rather than the older.
        bool better =
            found == 0 ||
            (the.lineage.is_ancestor(pid, process.pid()) &&
             (!the.lineage.is_ancestor(found, process.pid()) || the.lineage.is_ancestor(found, pid)));
        if (better)
            found = pid;
    }
    return found;
}

// A launcher and the server behind it are one instance, found by its top.
bool continues_its_parent(const ProcessFacts& process, const Case& the) {
    const ProcessFacts* parent = the.lineage.find(process.ppid);
    if (!parent || !is_channel(parent->input))
        return false;
    return parent->input.inode == process.input.inode ||
           (host_of(*parent, the) != 0 && the.lineage.children(parent->pid()).size() == 1);
}

struct Instance {
    const ProcessFacts* process;
    int host;
};

} // namespace

std::vector<Finding> find_duplicates(const Case& the, std::unordered_set<int>& taken) {
    std::map<std::pair<int, std::vector<std::string>>, std::vector<Instance>> groups;
    for (const ProcessFacts& process : the.snapshot.processes) {
        if (process.argv.empty() || process.state == 'Z' || taken.contains(process.pid()) ||
            process.age_ms < the.settings.settled_age_ms || is_left_alone(process, the))
            continue;
        if (process.uid != the.snapshot.own_uid ||
            (the.settings.in_scope && !the.settings.in_scope(process.pid())))
            continue;
        if (is_shell(process) && process.argv.size() == 1)
            continue; // a shell that waits for commands: each is somebody's own
        int host = host_of(process, the);
        const ProcessFacts* host_facts = the.lineage.find(host);
        if (host == 0 || !host_facts || is_shell(*host_facts) || continues_its_parent(process, the))
            continue;
        groups[{process.uid, process.argv}].push_back({&process, host});
    }

    std::vector<Finding> out;
    for (auto& [key, instances] : groups) {
        if (instances.size() < 2)
            continue;
        std::ranges::sort(instances, [](const Instance& a, const Instance& b) {
            return std::pair(a.process->identity.start_ticks, a.process->pid()) <
                   std::pair(b.process->identity.start_ticks, b.process->pid());
        });
        Finding finding = finding_about(*instances.front().process, FindingKind::duplicate, the);
        std::map<int, int> per_host;
        for (const Instance& instance : instances) {
            ++per_host[instance.host];
            if (&instance != &instances.front()) {
                Finding other = finding_about(*instance.process, FindingKind::duplicate, the);
                finding.pids.insert(finding.pids.end(), other.pids.begin(), other.pids.end());
                finding.memory += other.memory;
            }
        }
        for (auto [host, count] : per_host)
            finding.evidence.push_back(
                cat("process ", host, " holds stdin and stdout of ", count, " of them"));
        if (per_host.size() == 1) {
            finding.host = per_host.begin()->first;
            const ProcessFacts* host = the.lineage.find(finding.host);
            finding.host_command = command_of(*host, the);
            finding.rule = cat("the same command runs ", instances.size(), " times under one host");
            finding.doubts = {"the host may use all of them"};
        } else {
            finding.rule = cat("the same command runs ", instances.size(), " times for one user, under ",
                               per_host.size(), " hosts");
            finding.doubts = {"each host may need its own"};
        }
        taken.insert(finding.pids.begin(), finding.pids.end());
        out.push_back(std::move(finding));
    }
    return out;
}

} // namespace holdfast::core
