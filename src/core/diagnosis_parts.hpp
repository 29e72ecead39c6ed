// The rules of core/diagnosis, one file each. Internal to core.
#pragma once

#include "core/diagnosis.hpp"

#include <optional>

namespace holdfast::core {

struct Case {
    const Snapshot& snapshot;
    const Lineage& lineage;
    const DiagnosisSettings& settings;
};

// Nobody at the other end of stdin, and of stdout.
bool input_is_dead(const ProcessFacts& process);
bool output_is_dead(const ProcessFacts& process);

// Processes that no rule speaks about: services, containers' processes, kernel threads, what a keeper guards,
// and the process that asks with its ancestors.
bool is_left_alone(const ProcessFacts& process, const Case& the);

// Why a tree cannot be called unreachable and idle, one sentence each; empty when it is both.
std::vector<std::string> doubts_about_tree(const std::vector<int>& tree, const Case& the);

// npm, whose commands load a package and then only wait for what they started.
bool is_package_launcher(const ProcessFacts& process);

std::string name_pid(const ProcessFacts& process); // "node (42)"
std::string command_of(const ProcessFacts& process, const Case& the);
bool is_shell(const ProcessFacts& process);
Finding finding_about(const ProcessFacts& process, FindingKind kind, const Case& the);

// The rules. Each leaves out what is already in `taken` and adds what it speaks about.
std::vector<Finding> find_cut_off(const Case& the,
                                  std::unordered_set<int>& taken); // orphaned, no_writer, dropped
std::vector<Finding> find_duplicates(const Case& the, std::unordered_set<int>& taken);
std::vector<Finding> find_zombies(const Case& the);

} // namespace holdfast::core
