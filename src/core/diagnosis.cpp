#include "base/printable.hpp"
#include "base/text.hpp"
#include "core/diagnosis_parts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

namespace holdfast::core {

std::string_view name_of(FindingKind kind) {
    switch (kind) {
    case FindingKind::orphaned:
        return "orphaned";
    case FindingKind::no_writer:
        return "no_writer";
    case FindingKind::dropped:
        return "dropped";
    case FindingKind::duplicate:
        return "duplicate";
    case FindingKind::zombie:
        return "zombie";
    }
    return "unknown";
}

std::string_view words_for(FindingKind kind) {
    return kind == FindingKind::no_writer ? std::string_view("no writer") : name_of(kind);
}

bool input_is_dead(const base::ProcessFacts& process) {
    return process.descriptors_known && process.input.far_end == base::FarEnd::gone;
}

bool output_is_dead(const base::ProcessFacts& process) {
    return process.descriptors_known && process.output.far_end == base::FarEnd::gone;
}

namespace {

std::string_view program_name(const base::ProcessFacts& process) {
    std::string_view name =
        process.argv.empty() ? std::string_view() : std::string_view(process.argv.front());
    name.remove_prefix(name.rfind('/') + 1); // npos + 1 is 0
    return name;
}

// comm is the name of the file that was executed, which for the keeper may be /proc/self/exe: then its first
// word tells.
bool is_holdfast(const base::ProcessFacts& process) {
    std::string_view name = program_name(process);
    return process.comm.starts_with("holdfast") || name == "holdfast" || name == "holdfast-keep";
}

} // namespace

bool is_shell(const base::ProcessFacts& process) {
    static constexpr std::array<std::string_view, 8> shells = {"sh",  "bash", "dash", "zsh",
                                                               "ksh", "fish", "tcsh", "busybox"};
    std::string_view name = program_name(process);
    if (name.starts_with('-'))
        name.remove_prefix(1); // a login shell
    return std::ranges::find(shells, name) != shells.end();
}

bool is_package_launcher(const base::ProcessFacts& process) {
    if (process.argv.size() == 1)
        return process.argv.front().starts_with("npm ") || process.argv.front().starts_with("npx ");
    static constexpr std::array<std::string_view, 4> scripts = {"npx", "npm", "npx-cli.js", "npm-cli.js"};
    if (process.argv.empty() || program_name(process) != "node")
        return false;
    std::string_view script = process.argv[1];
    script.remove_prefix(script.rfind('/') + 1);
    return std::ranges::find(scripts, script) != scripts.end();
}

bool is_left_alone(const base::ProcessFacts& process, const Case& the) {
    if (process.kernel_thread || process.inner_namespace || process.pid() == 1 || is_service(process.unit))
        return true;
    if (the.lineage.is_ancestor(process.pid(), the.snapshot.own_pid))
        return true;
    // Whatever holdfast guards ends by holdfast's own rules, and so do its own programs.
    const base::ProcessFacts* up = &process;
    for (int steps = 0; up && steps < 64; ++steps) {
        if (is_holdfast(*up))
            return true;
        up = up->ppid > 1 ? the.lineage.find(up->ppid) : nullptr;
    }
    return false;
}

std::string name_pid(const base::ProcessFacts& process) {
    return base::cat(base::printable(process.comm), " (", process.pid(), ")");
}

std::string command_of(const base::ProcessFacts& process, const Case& the) {
    return base::printable(the.settings.describe ? the.settings.describe(process) : process.comm);
}

Finding finding_about(const base::ProcessFacts& process, FindingKind kind, const Case& the) {
    Finding out;
    out.kind = kind;
    out.identity = process.identity;
    out.command = command_of(process, the);
    out.uid = process.uid;
    out.age_ms = process.age_ms;
    out.pids = the.lineage.tree(process.pid());
    for (int pid : out.pids)
        if (const base::ProcessFacts* member = the.lineage.find(pid))
            out.memory += member->memory;
    return out;
}

std::vector<Finding> diagnose(const base::Snapshot& snapshot, const DiagnosisSettings& settings) {
    Lineage lineage(snapshot);
    Case the{snapshot, lineage, settings};
    std::unordered_set<int> taken;
    std::vector<Finding> out = find_cut_off(the, taken);
    std::ranges::move(find_duplicates(the, taken), std::back_inserter(out));
    std::ranges::move(find_zombies(the), std::back_inserter(out));
    std::ranges::stable_sort(out, [](const Finding& a, const Finding& b) {
        return std::tuple(!a.proven, a.kind, b.memory, a.identity.pid) <
               std::tuple(!b.proven, b.kind, a.memory, b.identity.pid);
    });
    return out;
}

std::unordered_set<int> worth_dating(const base::Snapshot& snapshot) {
    std::map<std::vector<std::string>, std::vector<int>> by_command;
    for (const base::ProcessFacts& process : snapshot.processes)
        if (process.uid == snapshot.own_uid && process.state != 'Z' && !process.argv.empty())
            by_command[process.argv].push_back(process.pid());
    const Lineage lineage(snapshot);
    std::unordered_set<int> out;
    for (const auto& [argv, pids] : by_command)
        if (pids.size() > 1)
            for (const int pid : pids)
                for (const int member : lineage.tree(pid))
                    out.insert(member);
    return out;
}

std::vector<std::string> without_title_padding(std::vector<std::string> argv) {
    if (argv.size() > 1 && std::ranges::all_of(argv.begin() + 1, argv.end(), &std::string::empty))
        argv.resize(1);
    return argv;
}

std::unordered_set<int> worth_watching(const base::Snapshot& snapshot) {
    Lineage lineage(snapshot);
    std::unordered_set<int> out;
    for (const base::ProcessFacts& process : snapshot.processes) {
        if (process.state == 'Z')
            out.insert(process.pid());
        if (input_is_dead(process) || !process.mark.empty())
            for (int pid : lineage.tree(process.pid()))
                out.insert(pid);
    }
    return out;
}

} // namespace holdfast::core
