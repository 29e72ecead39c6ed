// From what was seen to what can be said about it. Pure: a snapshot in, findings out.
//
// Proven means: the kernel itself shows that no living process can give it input, hear its output or reach it
// by a socket, that whoever started it is dead, and that it did nothing while we watched. Everything weaker
// is suspected, with the doubt in words, and nothing is ever ended on suspicion.
#pragma once

#include "base/process_facts.hpp"
#include "core/lineage.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace holdfast::core {

enum class FindingKind {
    orphaned,  // came to another parent when its starter died, and nobody is at the other end of its stdio
    no_writer, // nobody is left who could write to its stdin
    dropped,   // its host lives, let go of its stdio, and runs a newer one of the same command
    duplicate, // the same helper more than once
    zombie,    // ended, and its parent does not collect it
};
std::string_view name_of(FindingKind kind);   // "no_writer"
std::string_view words_for(FindingKind kind); // "no writer"

// One of several runs of the same command.
struct Generation {
    int pid = 0;
    int host = 0;
    std::size_t number = 0; // under its host: 1 is the oldest
    bool newest = false;    // under its host
    std::uint64_t age_ms = 0;
    std::optional<std::uint64_t> idle_ms; // nothing of its tree has run for so long; none: not known
    std::uint64_t cpu_ms = 0;             // of its tree, since each was started
    std::uint64_t memory = 0;
    std::vector<int> pids; // its tree

    bool operator==(const Generation&) const = default;
};

struct Finding {
    FindingKind kind = FindingKind::orphaned;
    bool proven = false;
    base::Identity
        identity; // of the process it is about; of the oldest one for duplicates, the parent for zombies
    std::string command; // its command line, for people
    int uid = -1;
    int host = 0; // living process that owns or owned it; 0 for none
    std::string host_command;
    std::vector<int> pids; // all processes concerned: with descendants, the process itself first
    std::uint64_t age_ms = 0;
    std::uint64_t memory = 0;            // resident bytes of all of them
    std::string rule;                    // the rule that made it a finding, one sentence
    std::vector<std::string> evidence;   // what was seen, one sentence each
    std::vector<std::string> doubts;     // why it is only suspected; empty when proven
    std::vector<Generation> generations; // duplicates only, by host, the oldest first

    // Proven, and ending it helps: a zombie can only be collected by its parent.
    [[nodiscard]] bool reapable() const noexcept { return proven && kind == FindingKind::orphaned; }
    bool operator==(const Finding&) const = default;
};

struct DiagnosisSettings {
    // Younger ones may still be on their way up or down: no dropped ones, no duplicates.
    std::uint64_t settled_age_ms = 5000;
    // Which processes findings may be about; all, when empty. The others still count as evidence.
    std::function<bool(int pid)> in_scope;
    // The command line for people; the caller quotes.
    std::function<std::string(const base::ProcessFacts&)> describe;
    // For the negative control of the tests only: believe a dead starter without looking at the other end of
    // stdio.
    bool without_channel_check = false;
};

// Proven ones first, then by kind, then the largest first.
std::vector<Finding> diagnose(const base::Snapshot& snapshot, const DiagnosisSettings& settings);

// The processes of which the diagnosis will ask when they last ran: those of whose command there are several.
std::unordered_set<int> worth_dating(const base::Snapshot& snapshot);

// A process may write a title over its command line (npm does: "npm exec NAME"). What is left of the old
// words is filled with zeros, which reads as empty words: the title alone is what it shows.
std::vector<std::string> without_title_padding(std::vector<std::string> argv);

// The processes whose activity the diagnosis will ask for: measure these between the two looks.
std::unordered_set<int> worth_watching(const base::Snapshot& snapshot);

} // namespace holdfast::core
