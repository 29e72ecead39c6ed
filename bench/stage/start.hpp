// From the start of `holdfast run` to the first word of its command.
#pragma once

#include "stage/pairs.hpp"

#include <string>
#include <vector>

namespace holdfast::bench {

// `words` are those after `holdfast`, up to and with `--`. The rows compare it with bare starts of the same
// programs, and with the command alone; counts follow.
void measure_start_of(const Run& run, const std::string& what, const std::vector<std::string>& words,
                      int rounds, double at_most);

} // namespace holdfast::bench
