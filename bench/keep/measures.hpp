// The measurements of keep-bench; each prints its rows.
#pragma once

#include "stage/pairs.hpp"

#include <string>

namespace holdfast::bench {

void measure_ending(const Run& run, int rounds); // the holder's death to an empty tree
void measure_start(const Run& run, int rounds);  // to the helper's first word
void measure_memory();
void measure_listing(const Run& run, int entries);
void measure_respawn(const Run& run, int rounds, const std::string& pm2);

} // namespace holdfast::bench
