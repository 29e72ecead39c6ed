// The measurements of slot-bench; each prints its rows.
#pragma once

namespace holdfast::bench {

void measure_acquire(int rounds);  // acquire and release in one process
void measure_handover(int rounds); // predecessor's exit to successor's ownership
void measure_status(int rounds);   // `holdfast status`, end to end
void measure_slot_start(int rounds);
void measure_waiter_memory();

} // namespace holdfast::bench
