// Taking a slot that a dead owner's processes may still hold: those that nobody guards any more are ended by
// who waits.
#pragma once

#include "holdfast/slot.hpp"
#include "registry/sweep.hpp"
#include "sys/pidfd.hpp"

#include <functional>
#include <vector>

namespace holdfast::registry {

using ToldOfSwept = std::function<void(const std::vector<Swept>&)>;

// The leftovers of a slot themselves say whose they are: who holds its life as part of a helper's tree holds
// the life of the helper's entry as well, in whatever profile that is. Sweeps the entries whose keeper is
// dead, and returns the keepers that live: when one of them has ended, it is time to ask again.
std::vector<sys::PidFd> end_unguarded(const SlotLocation& slot, const ToldOfSwept& told);

// holdfast::acquire(), which tells of what it ended on the way.
Result<Acquired> acquire_telling(const SlotLocation& location, const AcquireOptions& options,
                                 ToldOfSwept told);

} // namespace holdfast::registry
