// What the measurements share: a clock, quantiles, a tree of sleepers whose end can be waited for, a line of
// the report.
#pragma once

#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"

#include <string>
#include <vector>

namespace holdfast::bench {

using Words = std::vector<std::string>;
using namespace std::chrono_literals;

inline constexpr std::chrono::seconds patience{30};

double now_ms(); // monotonic

// Of at least one figure; q from 0 to 1.
double quantile(std::vector<double> figures, double q);

// "| what | holdfast | baseline | ratio | target | |" of figures that have no pairs; a baseline below zero is
// left out. For pairs: stage/pairs.hpp.
void row(const std::string& what, double ours, double baseline, const std::string& unit,
         const std::string& target);
// A line with words of its own in place of the figures.
void row_text(const std::string& what, const std::string& ours, const std::string& baseline,
              const std::string& target);

// From the start of `before` with the animal echo_server at its end to that one's first word, in ms.
double until_first_word(const harness::HoldfastHome& home, const Words& before);

// A shell with n - 1 sleepers below it.
Words sleepers(int n);

// Pidfds of everything below `root`, once that many `sleep` are among it.
std::vector<sys::Fd> tree_below(pid_t root, int sleeping);
void wait_all(const std::vector<sys::Fd>& pidfds);

// Ends the program with a sentence: a figure that could not be measured must not look like one.
[[noreturn]] void give_up(const std::string& why);

} // namespace holdfast::bench
