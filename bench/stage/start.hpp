// From the start of `holdfast run` to the first word of its command.
#pragma once

#include "stage/pairs.hpp"

#include <string>
#include <vector>

namespace holdfast::bench {

// `words` are those after `holdfast`, up to and with `--`. The judged row compares it with bare starts of the
// programs that it executes up to the command, as strace sees them; another row with the command alone.
// Counts follow.
void measure_start_of(const Run& run, const std::string& what, const std::vector<std::string>& words,
                      int rounds, double at_most);

} // namespace holdfast::bench
