// The measurements of memory-bench; each prints its rows.
#pragma once

#include "stage/pairs.hpp"

#include <string>

namespace holdfast::bench {

// With another commit, its program is beside ours wherever a row is about a program.
void measure_memory_start(const Run& run, int rounds);
void measure_cheap_call(const Run& run, int rounds);
void measure_cheap_call_scheduled(int pairs);  // the same where the scheduler puts them
void measure_turns(const Run& run, int turns); // turn.end beside a raw commit, and resident memory after them
void measure_long_text(const Run& run, int rounds); // a text near the limit of a line
void measure_log_watch(const Run& run, int rounds); // what a commit costs more because its log is looked at
// turn.start, at most that many ms, and one-row updates at a size
void measure_recall(const Run& run, int traces, double start_at_most);

// In a process of its own, to be counted: that many commits into a store (kind "store"), or a bare database
// ("raw").
int make_commits(const std::string& kind, int number, const std::string& folder);

} // namespace holdfast::bench
