// Tells the event log of a sweep.
#pragma once

#include "registry/events.hpp"
#include "slot/sweep.hpp"

#include <vector>

namespace holdfast::registry {

// One event for each entry of which something had to be ended.
void tell_of_swept(const EventLog& events, const std::vector<slot::Swept>& swept);

} // namespace holdfast::registry
