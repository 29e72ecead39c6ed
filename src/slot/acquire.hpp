// Taking a slot that a dead owner's processes may still hold: those that nobody guards any more are ended by
// who waits.
#pragma once

#include "holdfast/slot.hpp"
#include "slot/sweep.hpp"
#include "slot/tending.hpp"

#include <functional>
#include <string>
#include <vector>

namespace holdfast::slot {

using ToldOfSwept = std::function<void(const std::vector<Swept>&)>;

// The slot's record and its leftovers themselves say whose they are: who holds its life as part of a helper's
// tree holds the life of the helper's entry as well, in whatever profile that is. Sweeps the entries whose
// keeper is dead, and returns the keepers that live: when one of them has ended, it is time to ask again.
Tended end_unguarded(const SlotLocation& slot, const ToldOfSwept& told);

// What acquire_telling() tells of on the way. Each may be empty.
struct AcquireTold {
    ToldOfSwept swept = {};
    std::function<void(const std::string&)> blocked = {}; // Purpose::tell_blocked
};

// holdfast::acquire(), which tells.
Result<Acquired> acquire_telling(const SlotLocation& location, const AcquireOptions& options,
                                 AcquireTold told);

} // namespace holdfast::slot
