// Finds and ends what a double SIGKILL (front and keeper at once) left behind. The next start does this.
#pragma once

#include "holdfast/result.hpp"
#include "sys/pidfd.hpp"

#include <set>
#include <string>
#include <vector>

namespace holdfast::slot {

struct Swept {
    std::string id;
    std::string label;
    std::vector<int> ended; // processes
};

// Ends what is left of entries whose keeper is dead (ending/left_behind.hpp), and removes the entries of
// which nothing is left. An entry whose keeper lives is left to it. A stopped keeper is continued, and so is
// a stopped front whose host is dead. Quick when there is nothing to do: one lock question per entry. An
// entry of which something could not be ended is noted, and skipped for a minute, so that a start that does
// not need it does not search for it again. `only`: these entries instead of all. A note does not skip them
// unless it is younger than a second.
std::vector<Swept> sweep(const std::string& directory, const std::set<std::string>* only = nullptr);

// The keeper of entry `id` is gone or about to go: ends it, ends its tree, and removes the entry. Returns the
// processes that could not be ended.
std::vector<sys::PidFd> end_left_behind(const std::string& directory, const std::string& id,
                                        const sys::PidFd& keeper);

} // namespace holdfast::slot
