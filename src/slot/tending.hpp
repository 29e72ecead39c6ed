// What a contender asks of those who know the helpers behind slots (src/registry).
#pragma once

#include "slot/blocked.hpp"
#include "sys/pidfd.hpp"

#include <optional>
#include <vector>

namespace holdfast::slot {

// What came of seeing to a dead owner's leftovers.
struct Tended {
    std::vector<sys::PidFd> guards; // who ends what was left to them; when one has ended, it is asked again
    bool unguarded = false;         // they are of a helper whose guards are dead: nobody else ends them
    std::vector<LostTree> lost;     // what is known of that helper
};

// What is known of the process for which an owner works.
struct OwnersHost {
    bool gone = false;               // the owner is about to leave, whatever it says of itself
    std::optional<sys::PidFd> alive; // its end is news
};

} // namespace holdfast::slot
