#include "slot/stopped_guards.hpp"

#include "records/paths.hpp"
#include "slot/behind_slot.hpp"
#include "slot/wake.hpp"
#include "sys/lock_file.hpp"
#include "sys/proc.hpp"

namespace holdfast::slot {

bool host_is_dead(const base::HelperFacts& facts) {
    if (facts.host.pid <= 0)
        return false;
    auto host = sys::open_same(facts.host);
    return !host && host.error().code == Errc::not_found;
}

void continue_guards(const SlotLocation& entry, std::uint64_t epoch, const base::HelperFacts& facts) {
    (void)wake_owner(entry, epoch);
    if (auto keeper = sys::open_same(facts.keeper))
        sys::continue_stopped(*keeper);
}

OwnersHost look_after_owner(const SlotLocation& slot, std::uint64_t epoch) {
    OwnersHost out;
    for (const BehindSlot& behind : named_behind(slot, epoch)) {
        if (behind.facts.host.pid <= 0)
            continue;
        if (auto host = sys::open_same(behind.facts.host)) {
            out.alive = std::move(*host);
            continue;
        }
        if (!host_is_dead(behind.facts))
            continue;
        out.gone = true;
        if (auto sight = sys::LockFile::look(records::lock_path(behind.entry)); sight && sight->owned)
            continue_guards(behind.entry, sight->epoch, behind.facts);
    }
    return out;
}

} // namespace holdfast::slot
