// Takes a slot that processes of a dead owner may still hold. The contender that waits ends those that nobody
// guards any more.
#pragma once

#include "holdfast/slot.hpp"
#include "slot/sweep.hpp"
#include "slot/tending.hpp"

#include <functional>
#include <string>
#include <vector>

namespace holdfast::slot {

using ToldOfSwept = std::function<void(const std::vector<Swept>&)>;

// Sweeps the entries behind the slot whose keeper is dead, and returns the keepers that live: when one of
// them has ended, it is time to ask again. The slot's record and its leftovers say which entries these are: a
// process of a helper's tree that holds the slot's life also holds the life of the helper's entry, in
// whatever profile.
Tended end_unguarded(const SlotLocation& slot, const ToldOfSwept& told);

// Called by acquire_telling() on the way. Each may be empty.
struct AcquireTold {
    ToldOfSwept swept = {};
    std::function<void(const std::string&)> blocked = {}; // Purpose::tell_blocked
};

// As holdfast::acquire(), with these calls.
Result<Acquired> acquire_telling(const SlotLocation& location, const AcquireOptions& options,
                                 AcquireTold told);

} // namespace holdfast::slot
