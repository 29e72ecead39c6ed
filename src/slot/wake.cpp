#include "slot/wake.hpp"

#include "base/text.hpp"
#include "holdfast/slot.hpp"
#include "sys/pidfd.hpp"

#include <csignal>

namespace holdfast::slot {

Result<bool> wake_owner(const SlotLocation& location, std::uint64_t epoch) {
    const auto first = query(location);
    if (!first)
        return std::unexpected(first.error());
    if (first->owner_in_other_namespace)
        return fail(Errc::unreachable,
                    "the owner is in another PID namespace and cannot be continued from here");
    if (!first->owner_stopped || first->epoch != epoch)
        return false;
    auto owner = sys::PidFd::open(first->owner_pid);
    if (!owner)
        return false; // gone
    // Opened first, identity after: what holds the lock is alive, so its number cannot have been given away.
    // No need for the door: whoever let go of the slot since then is still that process, and SIGCONT does
    // nothing to one that runs.
    const auto again = query(location);
    if (!again)
        return std::unexpected(again.error());
    if (again->owner_pid != first->owner_pid || again->epoch != epoch || !again->owner_stopped)
        return false;
    return owner->signal(SIGCONT);
}

} // namespace holdfast::slot
