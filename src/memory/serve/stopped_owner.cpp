#include "memory/serve/stopped_owner.hpp"

#include "base/printable.hpp"
#include "holdfast/slot.hpp"
#include "memory/ids/ids.hpp"
#include "memory/serve/home_slot.hpp"
#include "slot/wake.hpp"

#include <cstdio>

namespace holdfast::memory {

StoppedOwner::StoppedOwner(std::string home)
    : home_(std::move(home)) {}

void StoppedOwner::look() {
    const auto now = monotonic_ms();
    if (now - looked_ms_ < settle_ms / 2)
        return;
    looked_ms_ = now;
    const SlotLocation location{home_, home_slot_name};
    const auto slot = query(location);
    if (!slot || !slot->owner_stopped || slot->epoch == 0) {
        seen_epoch_ = 0;
        return;
    }
    if (seen_epoch_ != slot->epoch) { // somebody may be about to continue it: scripts stop and continue
        seen_epoch_ = slot->epoch;
        seen_ms_ = now;
        return;
    }
    if (now - seen_ms_ < settle_ms || refused_epoch_ == slot->epoch)
        return;
    const auto woken = slot::wake_owner(location, slot->epoch);
    seen_epoch_ = 0;
    if (woken && *woken)
        std::fprintf(
            stderr,
            "holdfast-memory: process %d, which owns %s, was stopped; it was continued, since others "
            "wait for it\n",
            slot->owner_pid, base::printable(home_).c_str());
    if (woken)
        return;
    refused_epoch_ = slot->epoch;
    std::fprintf(stderr,
                 "holdfast-memory: process %d, which owns %s, is stopped and cannot be continued from here "
                 "(%s); as its user: kill -CONT %d\n",
                 slot->owner_pid, base::printable(home_).c_str(),
                 base::printable(woken.error().message).c_str(), slot->owner_pid);
}

} // namespace holdfast::memory
