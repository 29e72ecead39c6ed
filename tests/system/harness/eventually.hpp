// For what the kernel has no event for (a state in /proc, a counter): look again until it is so, bounded.
#pragma once

#include "harness/deadline.hpp"

#include <thread>

namespace holdfast::harness {

// True as soon as `holds()` is; false when it is not by the deadline.
template <class Condition>
bool eventually(const Deadline& deadline, Condition holds) {
    while (!holds()) {
        if (deadline.passed())
            return holds();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace holdfast::harness
