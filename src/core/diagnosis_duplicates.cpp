// The same helper more than once: always suspected, since two may be wanted.
#include "base/duration.hpp"
#include "base/text.hpp"
#include "core/diagnosis_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace holdfast::core {

namespace {

bool is_channel(const base::Channel& channel) {
    return channel.kind == base::ChannelKind::pipe || channel.kind == base::ChannelKind::unix_socket;
}

// The one process that both writes its stdin and reads its stdout: that makes it a helper, and tells it from
// a member of a pipeline, which has one neighbour on each side. 0 when there is none.
int host_of(const base::ProcessFacts& process, const Case& the) {
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
bool continues_its_parent(const base::ProcessFacts& process, const Case& the) {
    const base::ProcessFacts* parent = the.lineage.find(process.ppid);
    if (!parent || !is_channel(parent->input))
        return false;
    return parent->input.inode == process.input.inode ||
           (host_of(*parent, the) != 0 && the.lineage.children(parent->pid()).size() == 1);
}

struct Instance {
    const base::ProcessFacts* process;
    int host;
};

Generation generation_of(const Instance& instance, const Case& the) {
    Generation out;
    out.pid = instance.process->pid();
    out.host = instance.host;
    out.age_ms = instance.process->age_ms;
    out.pids = the.lineage.tree(out.pid);
    bool known = true;
    for (const int pid : out.pids) {
        const base::ProcessFacts* member = the.lineage.find(pid);
        if (member == nullptr || member->state == 'Z')
            continue;
        out.memory += member->memory;
        out.cpu_ms += member->cpu_ms;
        known = known && member->idle_ms.has_value();
        out.idle_ms = std::min(out.idle_ms.value_or(UINT64_MAX), member->idle_ms.value_or(0));
    }
    if (!known)
        out.idle_ms.reset();
    return out;
}

std::string words_for(std::uint64_t ms) {
    return base::format_duration(base::Millis(ms));
}

constexpr std::uint64_t moment_ms = 1000;

std::string cost(std::size_t processes, std::uint64_t memory) {
    return base::cat(processes, processes == 1 ? " process" : " processes", " with ",
                     base::format_size(memory));
}

std::string describe(const Generation& one, std::size_t of, const Case& the) {
    const base::ProcessFacts* host = the.lineage.find(one.host);
    auto out = of > 1 ? base::cat("process ", one.pid, " is generation ", one.number, " of ", of,
                                  one.newest ? ", the newest: " : ": ")
                      : base::cat("process ", one.pid, " is the one of ", name_pid(*host), ": ");
    out += base::cat("started ", words_for(one.age_ms), " ago, ", cost(one.pids.size(), one.memory), ", ",
                     words_for(one.cpu_ms), " of CPU since");
    if (one.idle_ms)
        out += *one.idle_ms < moment_ms ? std::string("; it ran just now")
                                        : base::cat("; nothing of it has run for ", words_for(*one.idle_ms));
    return out;
}

// Numbers them under each host, and says of each what it costs.
void tell_generations(Finding& finding, const std::map<int, int>& per_host, const Case& the) {
    std::ranges::stable_sort(finding.generations, {}, &Generation::host);
    int host = 0;
    std::size_t number = 0;
    for (auto& one : finding.generations) {
        number = one.host == host ? number + 1 : 1;
        host = one.host;
        const auto of = static_cast<std::size_t>(per_host.at(host));
        one.number = number;
        one.newest = number == of;
        finding.evidence.push_back(describe(one, of, the));
    }
}

// What the older ones under one host did since the newest is there. Only a host that has several is told.
void tell_the_older(Finding& finding, const Case& the) {
    std::size_t processes = 0;
    std::uint64_t memory = 0;
    bool all_idle = true;
    for (const auto& one : finding.generations) {
        if (one.newest)
            continue;
        const auto newest = std::ranges::find_if(finding.generations, [&](const Generation& other) {
            return other.host == one.host && other.newest;
        });
        processes += one.pids.size();
        memory += one.memory;
        all_idle = all_idle && one.idle_ms && *one.idle_ms >= newest->age_ms;
    }
    if (processes == 0)
        return;
    finding.evidence.push_back(
        base::cat("the older ones together: ", cost(processes, memory),
                  all_idle ? "; none of it has run since the newest was started" : ""));
    const base::ProcessFacts* host = the.lineage.find(finding.generations.front().host);
    finding.doubts.push_back(base::cat(
        finding.host != 0 ? name_pid(*host) : "each host",
        " still holds the pipes of the older ones, and may write to them at any moment; nobody but the host "
        "knows whether it will"));
}

} // namespace

std::vector<Finding> find_duplicates(const Case& the, std::unordered_set<int>& taken) {
    std::map<std::pair<int, std::vector<std::string>>, std::vector<Instance>> groups;
    for (const base::ProcessFacts& process : the.snapshot.processes) {
        if (process.argv.empty() || process.state == 'Z' || taken.contains(process.pid()) ||
            process.age_ms < the.settings.settled_age_ms || is_left_alone(process, the))
            continue;
        if (process.uid != the.snapshot.own_uid ||
            (the.settings.in_scope && !the.settings.in_scope(process.pid())))
            continue;
        if (is_shell(process) && process.argv.size() == 1)
            continue; // a shell that waits for commands: each is somebody's own
        int host = host_of(process, the);
        const base::ProcessFacts* host_facts = the.lineage.find(host);
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
            finding.generations.push_back(generation_of(instance, the));
            if (&instance != &instances.front()) {
                Finding other = finding_about(*instance.process, FindingKind::duplicate, the);
                finding.pids.insert(finding.pids.end(), other.pids.begin(), other.pids.end());
                finding.memory += other.memory;
            }
        }
        for (auto [host, count] : per_host)
            finding.evidence.push_back(
                base::cat("process ", host, " holds stdin and stdout of ", count, " of them"));
        tell_generations(finding, per_host, the);
        if (per_host.size() == 1) {
            finding.host = per_host.begin()->first;
            const base::ProcessFacts* host = the.lineage.find(finding.host);
            finding.host_command = command_of(*host, the);
            finding.rule = base::cat("the same command runs ", instances.size(), " times under one host");
        } else {
            finding.rule = base::cat("the same command runs ", instances.size(),
                                     " times for one user, under ", per_host.size(), " hosts");
            finding.doubts = {"each host may need its own"};
        }
        tell_the_older(finding, the);
        taken.insert(finding.pids.begin(), finding.pids.end());
        out.push_back(std::move(finding));
    }
    return out;
}

} // namespace holdfast::core
