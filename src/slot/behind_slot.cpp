#include "slot/behind_slot.hpp"

#include "records/paths.hpp"
#include "records/record_file.hpp"
#include "slot/sight.hpp"
#include "sys/directories.hpp"
#include "sys/lock_holders.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::slot {

namespace {

// The entry whose lock file this is, if its helper runs as owner of the slot.
void add_entry(const std::string& lock_file, const SlotLocation& slot, std::vector<BehindSlot>& out) {
    const std::size_t name = lock_file.rfind('/') + 1;
    if (name <= 1 || lock_file == records::lock_path(slot) || !lock_file.ends_with(records::lock_suffix))
        return;
    SlotLocation entry{.directory = lock_file.substr(0, name - 1),
                       .name = lock_file.substr(name, lock_file.size() - name - records::lock_suffix.size())};
    if (std::ranges::any_of(out, [&](const BehindSlot& one) {
            return one.entry.directory == entry.directory && one.entry.name == entry.name;
        }))
        return;
    auto record = records::read_record(entry);
    if (record && record->helper && !record->helper->registered && record->helper->slot == slot.name &&
        sys::check_private_directory(entry.directory))
        out.push_back({.entry = std::move(entry), .facts = std::move(*record->helper)});
}

} // namespace

std::vector<BehindSlot> named_behind(const SlotLocation& slot, std::uint64_t epoch) {
    std::vector<BehindSlot> out;
    if (auto record = records::read_record(slot); record && record->epoch == epoch && !record->entry.empty())
        add_entry(record->entry, slot, out);
    return out;
}

std::vector<BehindSlot> all_behind(const SlotLocation& slot, std::uint64_t epoch) {
    std::vector<BehindSlot> out = named_behind(slot, epoch);
    for (const pid_t pid : sys::find_life_holders(records::lock_path(slot)))
        for (const std::string& path : sys::lives_held_by(pid))
            add_entry(path, slot, out);
    return out;
}

std::vector<LostTree> lost_trees(const std::vector<BehindSlot>& behind) {
    std::vector<LostTree> out;
    for (const BehindSlot& one : behind)
        out.push_back({.id = one.entry.name, .helper = one.facts.helper, .keeper = one.facts.keeper});
    return out;
}

} // namespace holdfast::slot
