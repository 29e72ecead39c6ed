// From what was seen to what can be said about it. Pure: a snapshot in, findings out.
//
// Proven means: the kernel itself shows that no living process can give it input, hear its output or reach it
// by a socket, that whoever started it is dead, and that it did nothing while we watched. Everything weaker
// is suspected, with the doubt in words, and nothing is ever ended on suspicion.
#pragma once

#include "core/lineage.hpp"
#include "core/process_facts.hpp"

#include <cstdint>
#include <functional>
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

struct Finding {
    FindingKind kind = FindingKind::orphaned;
    bool proven = false;
    Identity identity; // of the process it is about; of the oldest one for duplicates, the parent for zombies
    std::string command; // its command line, for people
    int uid = -1;
    int host = 0; // living process that owns or owned it; 0 for none
    std::string host_command;
    std::vector<int> pids; // all processes concerned: with descendants, the process itself first
    std::uint64_t age_ms = 0;
    std::uint64_t memory = 0;          // resident bytes of all of them
    std::string rule;                  // the rule that made it a finding, one sentence
    std::vector<std::string> evidence; // what was seen, one sentence each
    std::vector<std::string> doubts;   // why it is only suspected; empty when proven

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
    std::function<std::string(const ProcessFacts&)> describe;
    // For the negative control of the tests only: believe a dead starter without looking at the other end of
    // stdio.
    bool without_channel_check = false;
};

// Proven ones first, then by kind, then the largest first.
std::vector<Finding> diagnose(const Snapshot& snapshot, const DiagnosisSettings& settings);

// The processes whose activity the diagnosis will ask for: measure these between the two looks.
std::unordered_set<int> worth_watching(const Snapshot& snapshot);

} // namespace holdfast::core
