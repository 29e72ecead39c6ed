// The measurements of keep-bench; each prints its rows.
#pragma once

#include <string>

namespace holdfast::bench {

void measure_ending(int rounds); // the holder's death to an empty tree
void measure_start(int rounds);  // to the helper's first word
void measure_memory();
void measure_listing(int entries);
void measure_respawn(int rounds, const std::string& pm2);

} // namespace holdfast::bench
