// Family relations in a snapshot, and the one question they can settle: was this process started by its
// present parent, or did it come to it when its real parent died?
#pragma once

#include "base/process_facts.hpp"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace holdfast::core {

class Lineage {
public:
    explicit Lineage(const base::Snapshot& snapshot); // keeps a reference

    [[nodiscard]] const base::ProcessFacts* find(int pid) const;
    [[nodiscard]] const std::vector<int>& children(int pid) const;
    // The process and all its descendants, itself first.
    [[nodiscard]] std::vector<int> tree(int pid) const;
    [[nodiscard]] bool is_ancestor(int ancestor, int pid) const; // true for pid itself
    // The processes that have the far end of this channel or link open, as far as they can be seen.
    [[nodiscard]] std::unordered_set<int> writers(const base::Channel& input) const;
    [[nodiscard]] std::unordered_set<int> readers(const base::Channel& output) const;
    [[nodiscard]] std::unordered_set<int> far_holders(const base::Link& link) const;

private:
    std::unordered_map<int, const base::ProcessFacts*> by_pid_;
    std::unordered_map<int, std::vector<int>> children_;
    std::unordered_map<std::uint64_t, std::unordered_set<int>> pipe_readers_;
    std::unordered_map<std::uint64_t, std::unordered_set<int>> pipe_writers_;
    std::unordered_map<std::uint64_t, std::unordered_set<int>> socket_holders_;
    std::unordered_map<std::uint64_t, std::uint64_t> socket_peer_;
};

// Why it is certain that the process that started this one is dead; empty when it is not certain.
//
// A session is inherited at birth and can be left only for one's own (setsid makes it equal to one's own
// pid). So a process that is neither in its parent's session nor the leader of its own was born to somebody
// else, provided the parent did not change session since: PID 1 cannot have come from a session we can see, a
// parent that does not lead its session never changed it, and systemd puts all it starts into sessions of
// their own. What systemd starts is also always in a unit of its own, while a scope holds what others
// started.
std::string proof_of_dead_starter(const base::ProcessFacts& process, const Lineage& lineage);

// The innermost "*.service" or "*.scope" of the text of /proc/PID/cgroup (v2 line, or systemd's own v1
// hierarchy).
std::string unit_of_cgroup(std::string_view text);

// A scope holds what others than systemd started. The scope of a login session is left out: a remote command
// whose connection broke looks the same, and its user may count on it.
bool is_started_by_others(std::string_view unit);

// A service is a unit that a service manager started: every *.service except the user managers
// (user@1000.service).
bool is_service(std::string_view unit);

} // namespace holdfast::core
