#include "slot/acquire.hpp"

#include "records/paths.hpp"
#include "slot/behind_slot.hpp"
#include "slot/contender.hpp"
#include "slot/stopped_guards.hpp"
#include "sys/lock_file.hpp"
#include "sys/proc.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace holdfast::slot {

Tended end_unguarded(const SlotLocation& slot, const ToldOfSwept& told) {
    Tended out;
    const auto sight = sys::LockFile::look(records::lock_path(slot));
    if (!sight)
        return out;
    const std::vector<BehindSlot> behind = all_behind(slot, sight->epoch);
    bool elsewhere = false;
    std::map<std::string, std::set<std::string>> by_directory;
    for (const BehindSlot& one : behind) {
        by_directory[one.entry.directory].insert(one.entry.name);
        // Held before it is asked who still guards: one that dies in between is then heard of by its pidfd,
        // and not missed by both.
        auto keeper = sys::open_same(one.facts.keeper);
        if (keeper)
            out.guards.push_back(std::move(*keeper));
        else if (keeper.error().code == Errc::unreachable)
            elsewhere = true; // in another container it may well live
    }
    for (const auto& [directory, ids] : by_directory) {
        auto swept = sweep(directory, &ids);
        if (told && !swept.empty())
            told(swept);
    }
    out.lost = lost_trees(behind);
    out.unguarded = !behind.empty() && !elsewhere && std::ranges::all_of(out.guards, &sys::PidFd::ended);
    if (out.unguarded)
        out.guards.clear();
    return out;
}

Result<Acquired> acquire_telling(const SlotLocation& location, const AcquireOptions& options,
                                 AcquireTold told) {
    Purpose purpose;
    purpose.end_unguarded = [location, swept = std::move(told.swept)] {
        return end_unguarded(location, swept);
    };
    purpose.look_after_owner = [location](std::uint64_t epoch) { return look_after_owner(location, epoch); };
    purpose.tell_blocked = std::move(told.blocked);
    return Contender(location, options, std::move(purpose)).run();
}

} // namespace holdfast::slot

namespace holdfast {

Result<Acquired> acquire(const SlotLocation& location, const AcquireOptions& options) {
    return slot::acquire_telling(location, options, {});
}

} // namespace holdfast
