// The measurements of memory-bench; each prints its rows.
#pragma once

#include <string>

namespace holdfast::bench {

void measure_memory_start(int rounds);
void measure_cheap_call(int rounds);
void measure_cheap_call_scheduled(int pairs); // the same where the scheduler puts them
void measure_turns(int turns);                // turn.end beside a raw commit, and resident memory after them
void measure_long_text(int rounds);           // a text near the limit of a line
void measure_log_watch(int rounds);           // what a commit costs more because its log is looked at
void measure_recall(int traces, const char* aim); // turn.start and one-row updates at a size

// In a process of its own, to be counted: that many commits into a store (kind "store"), or a bare database
// ("raw").
int make_commits(const std::string& kind, int number, const std::string& folder);

} // namespace holdfast::bench
