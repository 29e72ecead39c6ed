// The rules of core/diagnosis, one file each. Internal to core.
#pragma once

#include "core/diagnosis.hpp"

#include <optional>

namespace holdfast::core {

struct Case {
    const base::Snapshot& snapshot;
    const Lineage& lineage;
    const DiagnosisSettings& settings;
};

// Nobody at the other end of stdin, and of stdout.
bool input_is_dead(const base::ProcessFacts& process);
bool output_is_dead(const base::ProcessFacts& process);

// Processes that no rule speaks about: services, containers' processes, kernel threads, what a keeper guards,
// and the process that asks with its ancestors.
bool is_left_alone(const base::ProcessFacts& process, const Case& the);

// Why a tree cannot be called unreachable and idle, one sentence each; empty when it is both.
std::vector<std::string> doubts_about_tree(const std::vector<int>& tree, const Case& the);

// npm, whose commands load a package and then only wait for what they started.
bool is_package_launcher(const base::ProcessFacts& process);

std::string name_pid(const base::ProcessFacts& process); // "node (42)"
std::string command_of(const base::ProcessFacts& process, const Case& the);
bool is_shell(const base::ProcessFacts& process);
Finding finding_about(const base::ProcessFacts& process, FindingKind kind, const Case& the);

// The rules. Each leaves out what is already in `taken` and adds what it speaks about.
std::vector<Finding> find_cut_off(const Case& the,
                                  std::unordered_set<int>& taken); // orphaned, no_writer, dropped
std::vector<Finding> find_duplicates(const Case& the, std::unordered_set<int>& taken);
std::vector<Finding> find_zombies(const Case& the);

} // namespace holdfast::core
