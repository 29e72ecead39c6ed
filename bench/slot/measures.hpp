// The measurements of slot-bench; each prints its rows.
#pragma once

#include "stage/pairs.hpp"

namespace holdfast::bench {

void measure_acquire(const Run& run, int rounds);  // acquire and release in one process
void measure_handover(const Run& run, int rounds); // predecessor's exit to successor's ownership
void measure_status(const Run& run, int rounds);   // `holdfast status`, end to end
void measure_slot_start(const Run& run, int rounds);
void measure_waiter_memory();

} // namespace holdfast::bench
