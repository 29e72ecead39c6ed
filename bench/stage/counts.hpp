// What a run of programs is made of, counted and not timed: these figures are the same on every machine.
#pragma once

#include "harness/child.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

struct Counts {
    double calls = 0;                  // system calls, of the process and all it starts
    std::vector<std::string> executed; // the programs that were executed, the first one included
    double forks = 0;                  // of these, processes that were made
    double waits = 0;                  // times that one of them gave up the processor to wait
    double faults = 0;                 // pages that the kernel had to bring
};

// Runs it to its end twice, once under strace. Once it has said `word` (or at once) it is given `input` and
// the end of its stdin.
Counts count(harness::SpawnSpec spec, const std::string& word = "", const std::string& input = "");

} // namespace holdfast::bench
