// What a double SIGKILL (front and keeper at once) left behind, found and ended by the next start.
#pragma once

#include "holdfast/result.hpp"
#include "registry/events.hpp"

#include <set>
#include <string>
#include <vector>

namespace holdfast::registry {

struct Swept {
    std::string id;
    std::string label;
    std::vector<int> ended; // processes
};

// Entries whose keeper is dead: every process that holds their life or carries their mark is sent TERM and
// CONT, given 2 s, then KILL, each by pidfd; what is in their cgroup is killed, wherever that was made; then
// the entry is removed, unless something is left there. Entries whose keeper lives
// are left to it; one that is stopped is continued, and so is a front whose host is dead. Quick when there is
// nothing to do: one lock question per entry. An entry of which something is left that could not be ended is
// noted, and passed over for a minute: a start that has no need of it does not search for it again. `only`:
// these entries, not all, and noted or not, unless that was within the last second.
std::vector<Swept> sweep(const std::string& directory, const std::set<std::string>* only = nullptr);

// Into the event log, those of which something had to be ended.
void tell_of_swept(const EventLog& events, const std::vector<Swept>& swept);

} // namespace holdfast::registry
