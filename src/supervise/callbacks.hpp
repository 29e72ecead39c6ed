// The threads that run the host's code. How many of each kind may take their time at once is said in
// holdfast/supervisor.hpp.
#pragma once

#include "supervise/workers.hpp"

#include <chrono>

namespace holdfast::supervise {

struct Callbacks {
    Workers answers{"holdfast-answer", 64, std::chrono::milliseconds(2)};
    Workers passing{"holdfast-settle", 1, std::chrono::milliseconds(2)}; // answers that are only passed on
    Workers notes{"holdfast-notes", 64, std::chrono::milliseconds(2)};   // in a Lane per hold
    Workers handlers{"holdfast-serve", 256, {}};                         // in a Lane per helper
};

} // namespace holdfast::supervise
