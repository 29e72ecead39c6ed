#include "registry/acquire.hpp"

#include "slot/contender.hpp"
#include "slot/paths.hpp"
#include "slot/sight.hpp"
#include "sys/directories.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"

#include <map>
#include <set>
#include <string>

namespace holdfast::registry {

namespace {

// The helper that an entry is of, if it runs as owner of this slot. The record is believed as far as it leads
// to nobody but the dead: sweep() asks the kernel for everything else.
std::optional<core::HelperFacts> helper_of(const SlotLocation& entry, const SlotLocation& slot) {
    auto record = slot::read_record(entry);
    if (!record || !record->helper || record->helper->registered || record->helper->slot != slot.name)
        return std::nullopt;
    return std::move(record->helper);
}

// Entries by their directories, of which one of the slot's leftovers holds the life.
std::map<std::string, std::set<std::string>> entries_behind(const SlotLocation& slot) {
    std::map<std::string, std::set<std::string>> out;
    const std::string own = slot::lock_path(slot);
    for (const pid_t pid : sys::find_life_holders(own))
        for (const std::string& path : sys::lives_held_by(pid)) {
            const std::size_t name = path.rfind('/') + 1;
            if (name == 0 || path == own || !path.ends_with(slot::lock_suffix))
                continue;
            const SlotLocation entry{.directory = path.substr(0, name - 1),
                                     .name =
                                         path.substr(name, path.size() - name - slot::lock_suffix.size())};
            if (helper_of(entry, slot) && sys::check_private_directory(entry.directory))
                out[entry.directory].insert(entry.name);
        }
    return out;
}

} // namespace

std::vector<sys::PidFd> end_unguarded(const SlotLocation& slot, const ToldOfSwept& told) {
    std::vector<sys::PidFd> keepers;
    for (const auto& [directory, ids] : entries_behind(slot)) {
        // Held before it is asked who still guards: one that dies in between is then heard of by its pidfd, and
        // not missed by both.
        for (const std::string& id : ids)
            if (auto helper = helper_of({.directory = directory, .name = id}, slot))
                if (auto keeper = sys::open_same(helper->keeper))
                    keepers.push_back(std::move(*keeper));
        auto swept = sweep(directory, &ids);
        if (told && !swept.empty())
            told(swept);
    }
    return keepers;
}

Result<Acquired> acquire_telling(const SlotLocation& location, const AcquireOptions& options,
                                 ToldOfSwept told) {
    slot::Purpose purpose;
    purpose.end_unguarded = [location, told = std::move(told)] { return end_unguarded(location, told); };
    return slot::Contender(location, options, std::move(purpose)).run();
}

} // namespace holdfast::registry

namespace holdfast {

Result<Acquired> acquire(const SlotLocation& location, const AcquireOptions& options) {
    return registry::acquire_telling(location, options, {});
}

} // namespace holdfast
