// What a run of programs is made of, counted and not timed: these figures do not depend on the speed of the
// machine.
#pragma once

#include "harness/child.hpp"
#include "stage/pairs.hpp"

#include <functional>
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

// Instructions of the program and of all that it executes, counted by callgrind; a failure says why they
// cannot be counted. The figure is one on which two runs agree within 0.1 %. Without `input` the end of stdin
// comes at once.
Result<double> instructions(harness::SpawnSpec spec, const std::string& input = "");

// "| ... instructions | 42 | 17 | 2.47 | | |", with the reason in place of a figure that cannot be had.
void instructions_row(const Run& run, const std::string& what,
                      const std::function<Result<double>(const Programs&)>& ours,
                      const std::function<Result<double>()>& bare);

} // namespace holdfast::bench
