// Helpers that nobody can talk to any more.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "core/diagnosis_parts.hpp"

#include <algorithm>

namespace holdfast::core {

namespace {

// A timer that wakes up now and then is idle; a computation is not. The floor is two of the kernel's 10 ms
// ticks, below which a measurement means nothing.
constexpr std::uint64_t idle_cpu_floor_ms = 20;
constexpr std::uint64_t idle_cpu_share = 10; // one tenth of the window
// On a busy machine a computation gets next to nothing. Whoever wants more than its share there wants all the
// time; a timer only waits for its turn when it wakes.
constexpr std::uint64_t idle_wanted_share = 2; // half of the window, got or waited for
constexpr std::uint64_t idle_io_bytes = std::uint64_t{64} * 1024;

std::string_view thing(const base::Channel& channel) {
    return channel.kind == base::ChannelKind::pipe ? std::string_view("pipe") : std::string_view("socket");
}

// Where its stderr goes: to a journal or a log that outlives hosts as a rule. Whoever reads a log gives no
// work and waits for no answer. 0 for none.
std::uint64_t log_inode(const base::ProcessFacts& member) {
    for (const base::Link& link : member.links)
        if (link.fd == 2 &&
            (link.kind == base::LinkKind::pipe_writer || link.kind == base::LinkKind::unix_socket))
            return link.inode;
    return 0;
}

// npm keeps the connections over which it has loaded a package for minutes after it has started the command,
// and takes no work from them.
bool waits_with_its_registry(const base::ProcessFacts& member, const base::Link& link, const Case& the) {
    return link.kind == base::LinkKind::quiet_tcp && is_package_launcher(member) &&
           !the.lineage.children(member.pid()).empty();
}

// How somebody outside of the tree could still reach this member; empty when nobody can.
std::string way_in(const base::ProcessFacts& member, const std::unordered_set<int>& tree, const Case& the) {
    std::uint64_t log = log_inode(member);
    for (const base::Link& link : member.links) {
        if (link.inode == log && !link.door)
            continue;
        if (waits_with_its_registry(member, link, the))
            continue;
        if (link.kind == base::LinkKind::other_socket || link.kind == base::LinkKind::quiet_tcp)
            return base::cat(name_pid(member), " has a network socket open (descriptor ", link.fd,
                             "): it may work for somebody");
        if (link.door)
            return base::cat(name_pid(member), " listens on a socket (descriptor ", link.fd,
                             "): others may reach it");
        if (link.far_end == base::FarEnd::gone)
            continue;
        auto holders = the.lineage.far_holders(link);
        bool inside = std::ranges::any_of(holders, [&](int pid) { return tree.contains(pid); });
        for (int pid : holders)
            if (!tree.contains(pid))
                return base::cat(name_pid(member), " shares a ",
                                 link.kind == base::LinkKind::unix_socket ? "socket" : "pipe",
                                 " with living process ", pid, " (descriptor ", link.fd, ")");
        bool nobody_there = link.kind == base::LinkKind::unix_socket && link.peer == 0;
        if (!inside && !nobody_there)
            return base::cat(name_pid(member), " holds one end of a ",
                             link.kind == base::LinkKind::unix_socket ? "socket" : "pipe", " (descriptor ",
                             link.fd, ") whose other end cannot be seen from here");
    }
    return {};
}

bool is_busy(std::uint64_t cpu_ms, std::uint64_t wait_ms, std::uint64_t io_bytes, const Case& the) {
    const std::uint64_t window = the.snapshot.window_ms;
    return cpu_ms > std::max(idle_cpu_floor_ms, window / idle_cpu_share) ||
           cpu_ms + wait_ms > std::max(idle_cpu_floor_ms, window / idle_wanted_share) ||
           io_bytes > idle_io_bytes;
}

std::string output_words(const base::ProcessFacts& process) {
    if (output_is_dead(process))
        return base::cat("its stdout is a ", thing(process.output), " that no process reads");
    switch (process.output.kind) {
    case base::ChannelKind::null_device:
        return "its stdout goes to /dev/null";
    case base::ChannelKind::file:
        return "its stdout goes to a file";
    default:
        return "its stdout is closed";
    }
}

// Start ticks are 10 ms long; where the kernel numbers its processes without reuse, those numbers tell within
// one.
bool is_newer(const base::Identity& one, const base::Identity& other) {
    if (one.start_ticks != other.start_ticks)
        return one.start_ticks > other.start_ticks;
    return one.pidfd_inode != 0 && other.pidfd_inode != 0 && one.pidfd_inode > other.pidfd_inode;
}

// A newer process of the same command with the same parent, whose stdin still has a writer.
const base::ProcessFacts* newer_generation(const base::ProcessFacts& process, const Case& the) {
    for (int pid : the.lineage.children(process.ppid)) {
        const base::ProcessFacts* other = the.lineage.find(pid);
        if (other && other->argv == process.argv && !process.argv.empty() && !input_is_dead(*other) &&
            other->descriptors_known && other->state != 'Z' && is_newer(other->identity, process.identity))
            return other;
    }
    return nullptr;
}

std::string input_words(const base::ProcessFacts& process) {
    return base::cat("its stdin is a ", thing(process.input), " that no process can write to any more");
}

// Its starter is dead and both ends of its stdio are: proven, unless the tree gives a doubt.
Finding orphan(const base::ProcessFacts& process, std::string proof, const Case& the) {
    Finding out = finding_about(process, FindingKind::orphaned, the);
    out.rule =
        "whoever started it is dead, nobody can write to its stdin, nobody reads its stdout, nothing else "
        "reaches it, and it is idle";
    out.evidence = {std::move(proof)};
    if (input_is_dead(process))
        out.evidence.push_back(input_words(process));
    if (output_is_dead(process))
        out.evidence.push_back(output_words(process));
    for (const int pid : out.pids)
        if (const base::ProcessFacts* member = the.lineage.find(pid);
            member && std::ranges::any_of(member->links, [&](const base::Link& link) {
                return waits_with_its_registry(*member, link, the);
            }))
            out.evidence.push_back(base::cat(
                name_pid(*member), " only waits for the command it has loaded; its connection to the "
                                   "package registry is idle"));
    out.doubts = doubts_about_tree(out.pids, the);
    out.proven = out.doubts.empty();
    if (out.proven)
        out.evidence.push_back(base::cat("it and what it started did nothing for ", the.snapshot.window_ms,
                                         " ms and are not connected to anybody"));
    return out;
}

// Its starter is dead and nobody writes, but its output may be wanted: a file grows, or side effects happen.
// A pipeline that is still computing looks like this too, so only an idle one is mentioned.
std::optional<Finding> lonely_writer(const base::ProcessFacts& process, std::string proof, const Case& the) {
    auto kind = process.output.kind;
    if (kind != base::ChannelKind::null_device && kind != base::ChannelKind::file &&
        kind != base::ChannelKind::closed)
        return std::nullopt;
    Finding out = finding_about(process, FindingKind::no_writer, the);
    if (!doubts_about_tree(out.pids, the).empty())
        return std::nullopt;
    out.rule = "whoever started it is dead and nobody can write to its stdin";
    out.evidence = {std::move(proof), input_words(process)};
    out.doubts = {base::cat(output_words(process), ": it may be finishing something")};
    return out;
}

// Its parent lives. That parent may be ending it this moment, or use it in a way that does not show.
std::optional<Finding> let_go(const base::ProcessFacts& process, const Case& the) {
    const base::ProcessFacts* parent = the.lineage.find(process.ppid);
    // A shell waits for every member of a pipeline: the member is not let go of.
    if (!parent || is_shell(*parent) || process.age_ms < the.settings.settled_age_ms)
        return std::nullopt;
    const base::ProcessFacts* newer = newer_generation(process, the);
    Finding out = finding_about(process, newer ? FindingKind::dropped : FindingKind::no_writer, the);
    if (!doubts_about_tree(out.pids, the).empty())
        return std::nullopt;
    out.host = parent->pid();
    out.host_command = command_of(*parent, the);
    out.evidence = {input_words(process), output_words(process),
                    base::cat("its parent ", name_pid(*parent), " lives and holds neither")};
    if (newer) {
        out.rule = "its host lives, let go of its stdio, and runs a newer one of the same command";
        out.evidence.push_back(
            base::cat("process ", newer->pid(), " is the same command, newer, and in use"));
        out.doubts = {"the host may be about to end it"};
    } else {
        out.rule = "nobody can write to its stdin and nobody reads its stdout";
        out.doubts = {process.ppid == 1 ? "PID 1 may have started it itself"
                                        : "its parent may be about to end it"};
    }
    return out;
}

// It was started under holdfast, and no keeper is above it any more. Daemons that were spared on purpose
// carry the mark too, so this stays a suspicion; those that listen are not even mentioned.
std::optional<Finding> unkept(const base::ProcessFacts& process, std::string proof, const Case& the) {
    Finding out = finding_about(process, FindingKind::orphaned, the);
    if (!doubts_about_tree(out.pids, the).empty())
        return std::nullopt;
    out.rule = "it was started under holdfast, and its keeper is gone";
    out.evidence = {std::move(proof),
                    base::cat("its environment carries HOLDFAST_MARK=", base::printable(process.mark))};
    out.doubts = {"it may have been left behind on purpose (--spare)"};
    return out;
}

std::optional<Finding> judge(const base::ProcessFacts& process, const Case& the) {
    std::string proof = proof_of_dead_starter(process, the.lineage);
    if (the.settings.without_channel_check && !proof.empty())
        return orphan(process, std::move(proof), the);
    if (!input_is_dead(process))
        return proof.empty() || process.mark.empty() ? std::nullopt : unkept(process, std::move(proof), the);
    if (!proof.empty())
        return output_is_dead(process) ? orphan(process, std::move(proof), the)
                                       : lonely_writer(process, std::move(proof), the);
    return output_is_dead(process) ? let_go(process, the) : std::nullopt;
}

} // namespace

std::vector<std::string> doubts_about_tree(const std::vector<int>& tree, const Case& the) {
    std::vector<std::string> out;
    std::unordered_set<int> members(tree.begin(), tree.end());
    std::uint64_t cpu_ms = 0, wait_ms = 0, io_bytes = 0;
    std::string running;
    for (int pid : tree) {
        const base::ProcessFacts* member = the.lineage.find(pid);
        if (!member || member->state == 'Z')
            continue;
        std::string who = name_pid(*member);
        if (member->uid != the.snapshot.own_uid || !member->one_uid)
            out.push_back(base::cat(who, " belongs to another user (uid ", member->uid, ")"));
        else if (!member->descriptors_known)
            out.push_back(base::cat(who, " does not show its descriptors"));
        if (member->has_terminal)
            out.push_back(base::cat(who, " belongs to a terminal; close that terminal and look again"));
        if (member->traced)
            out.push_back(base::cat(who, " is being debugged"));
        if (is_left_alone(*member, the))
            out.push_back(base::cat(who, " is a service, a container's process, or guarded by holdfast"));
        if (member->input.unread)
            out.push_back(base::cat(who, " has input that it has not read yet"));
        if (!member->activity.measured)
            out.push_back(base::cat(who, " changed while we looked"));
        if (member->state == 'D')
            out.push_back(base::cat(who, " waits for a device"));
        if (std::string way = way_in(*member, members, the); !way.empty())
            out.push_back(std::move(way));
        cpu_ms += member->activity.cpu_ms;
        wait_ms += member->activity.wait_ms;
        if (member->activity.runnable)
            running = std::move(who);
        io_bytes += member->activity.io_bytes;
    }
    if (is_busy(cpu_ms, wait_ms, io_bytes, the))
        out.push_back(base::cat("it is at work: ", cpu_ms, " ms of CPU, ", wait_ms,
                                " ms of waiting for it, and ", io_bytes, " bytes within ",
                                the.snapshot.window_ms, " ms"));
    else if (!running.empty())
        out.push_back(base::cat(running, " runs, or waits for a processor"));
    return out;
}

std::vector<Finding> find_cut_off(const Case& the, std::unordered_set<int>& taken) {
    // From the top of each tree down, so that a helper is found before what it started.
    std::vector<const base::ProcessFacts*> order;
    std::vector<int> pending;
    std::unordered_set<int> seen;
    for (const base::ProcessFacts& process : the.snapshot.processes)
        if (!the.lineage.find(process.ppid))
            pending.push_back(process.pid());
    for (std::size_t at = 0; at < pending.size(); ++at) {
        if (!seen.insert(pending[at]).second)
            continue;
        order.push_back(the.lineage.find(pending[at]));
        for (int child : the.lineage.children(pending[at]))
            pending.push_back(child);
    }

    std::vector<Finding> out;
    for (const base::ProcessFacts* process : order) {
        if (process->state == 'Z' || taken.contains(process->pid()) || is_left_alone(*process, the))
            continue;
        if (the.settings.in_scope && !the.settings.in_scope(process->pid()))
            continue;
        if (auto finding = judge(*process, the)) {
            taken.insert(finding->pids.begin(), finding->pids.end());
            out.push_back(std::move(*finding));
        }
    }
    return out;
}

} // namespace holdfast::core
