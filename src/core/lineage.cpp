#include "core/lineage.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"

namespace holdfast::core {

namespace {

const std::vector<int> nobody;

std::unordered_set<int> holders(const std::unordered_map<std::uint64_t, std::unordered_set<int>>& table,
                                std::uint64_t inode) {
    auto found = inode == 0 ? table.end() : table.find(inode);
    return found == table.end() ? std::unordered_set<int>{} : found->second;
}

bool is_systemd(const base::ProcessFacts& process) {
    // comm of a process can be chosen by it, but a user who calls his own host "systemd" deceives only
    // himself.
    return process.comm == "systemd";
}

} // namespace

Lineage::Lineage(const base::Snapshot& snapshot) {
    for (const base::ProcessFacts& process : snapshot.processes) {
        by_pid_[process.pid()] = &process;
        children_[process.ppid].push_back(process.pid());
        for (const base::Link& link : process.links) {
            switch (link.kind) {
            case base::LinkKind::pipe_reader:
                pipe_readers_[link.inode].insert(process.pid());
                break;
            case base::LinkKind::pipe_writer:
                pipe_writers_[link.inode].insert(process.pid());
                break;
            case base::LinkKind::unix_socket:
                socket_holders_[link.inode].insert(process.pid());
                socket_peer_[link.inode] = link.peer;
                break;
            case base::LinkKind::quiet_tcp:
            case base::LinkKind::other_socket:
                break;
            }
        }
    }
}

const base::ProcessFacts* Lineage::find(int pid) const {
    auto found = by_pid_.find(pid);
    return found == by_pid_.end() ? nullptr : found->second;
}

const std::vector<int>& Lineage::children(int pid) const {
    auto found = children_.find(pid);
    return found == children_.end() ? nobody : found->second;
}

std::vector<int> Lineage::tree(int pid) const {
    std::vector<int> out{pid};
    std::unordered_set<int> seen{
        pid}; // a snapshot is not taken in one instant: reused numbers could make a circle
    for (std::size_t at = 0; at < out.size(); ++at)
        for (int child : children(out[at]))
            if (seen.insert(child).second)
                out.push_back(child);
    return out;
}

bool Lineage::is_ancestor(int ancestor, int pid) const {
    std::unordered_set<int> seen;
    while (pid > 0 && seen.insert(pid).second) {
        if (pid == ancestor)
            return true;
        const base::ProcessFacts* process = find(pid);
        pid = process ? process->ppid : 0;
    }
    return false;
}

std::unordered_set<int> Lineage::far_holders(const base::Link& link) const {
    switch (link.kind) {
    case base::LinkKind::pipe_reader:
        return holders(pipe_writers_, link.inode);
    case base::LinkKind::pipe_writer:
        return holders(pipe_readers_, link.inode);
    case base::LinkKind::unix_socket:
        return holders(socket_holders_, link.peer);
    case base::LinkKind::quiet_tcp:
    case base::LinkKind::other_socket:
        break;
    }
    return {};
}

std::unordered_set<int> Lineage::writers(const base::Channel& input) const {
    if (input.kind == base::ChannelKind::pipe)
        return holders(pipe_writers_, input.inode);
    auto peer = socket_peer_.find(input.inode);
    return peer == socket_peer_.end() ? std::unordered_set<int>{} : holders(socket_holders_, peer->second);
}

std::unordered_set<int> Lineage::readers(const base::Channel& output) const {
    if (output.kind == base::ChannelKind::pipe)
        return holders(pipe_readers_, output.inode);
    return writers(output); // a socket is both
}

std::string proof_of_dead_starter(const base::ProcessFacts& process, const Lineage& lineage) {
    const base::ProcessFacts* parent = lineage.find(process.ppid);
    // Whoever adopts an orphan is its ancestor, hence older. If not, the number was reused between two looks.
    if (!parent || parent->identity.start_ticks > process.identity.start_ticks)
        return {};
    bool parent_never_moved = parent->pid() == 1 || parent->session != parent->pid() || is_systemd(*parent);
    if (parent_never_moved && process.session != 0 && process.session != process.pid() &&
        process.session != parent->session)
        return base::cat("it was born in session ", process.session, " and its parent is now ",
                         base::printable(parent->comm), " (", parent->pid(),
                         "), which is not of that session: whoever started it is dead");
    if (is_systemd(*parent) && is_started_by_others(process.unit))
        return base::cat("its parent is now systemd (", parent->pid(), "), which starts nothing inside ",
                         base::printable(process.unit), ": whoever started it is dead");
    return {};
}

std::string unit_of_cgroup(std::string_view text) {
    std::string found;
    while (!text.empty()) {
        std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        std::size_t colon = line.find(':');
        std::size_t second = colon == std::string_view::npos ? colon : line.find(':', colon + 1);
        if (second == std::string_view::npos)
            continue;
        std::string_view controllers = line.substr(colon + 1, second - colon - 1);
        if (!controllers.empty() && controllers != "name=systemd")
            continue;
        std::string_view path = line.substr(second + 1);
        std::string innermost;
        while (!path.empty()) {
            std::size_t slash = path.find('/');
            std::string_view part = path.substr(0, slash);
            path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
            if (part.ends_with(".service") || part.ends_with(".scope"))
                innermost = part;
        }
        if (!innermost.empty())
            found = innermost;
    }
    return found;
}

bool is_started_by_others(std::string_view unit) {
    return unit.ends_with(".scope") && !unit.starts_with("session-") && unit != "init.scope";
}

bool is_service(std::string_view unit) {
    return unit.ends_with(".service") && !unit.starts_with("user@");
}

} // namespace holdfast::core
