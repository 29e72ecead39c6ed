#include "registry/sweep.hpp"

#include "base/text.hpp"
#include "holdfast/slot.hpp"
#include "registry/entry.hpp"
#include "registry/left_behind.hpp"
#include "registry/listing.hpp"
#include "registry/stopped_guards.hpp"
#include "sys/clock.hpp"
#include "sys/proc.hpp"
#include "sys/whole_file.hpp"

#include <cstdlib>
#include <utility>

namespace holdfast::registry {

namespace {

constexpr std::chrono::milliseconds patience{10000};
constexpr std::int64_t keep_registered_ms = 86'400'000;
constexpr std::int64_t just_now = 1000; // ms
constexpr std::int64_t a_while = 60'000;

// When something was left of it that could not be ended: boot time in ms. A file beside the entry's own,
// since nobody can own the entry and write its record.
void note_stuck(const SlotLocation& entry) {
    (void)sys::put_whole(stuck_note_path(entry), std::to_string(sys::boottime_ms()));
}

bool was_stuck(const SlotLocation& entry, std::int64_t within_ms) {
    const auto text = sys::read_small_file(stuck_note_path(entry), 64);
    const std::int64_t age = text ? sys::boottime_ms() - std::strtoll(text->c_str(), nullptr, 10) : -1;
    return age >= 0 && age < within_ms; // one of an earlier boot is of another clock
}

// Registered entries are their hosts' business: the next start of the host adopts or ends what they name.
// Only what no host came back for in a day, or since the last boot, and whose process is gone as well, is
// cleared away here.
bool forgotten(const Helper& helper) {
    if (!helper.facts.registered || helper.info.state != SlotState::free || helper.alive)
        return false;
    if (helper.facts.helper.boot_id != sys::boot_id())
        return true;
    if (helper.elsewhere)
        return false; // it cannot be judged from here
    std::int64_t since_end =
        helper.facts.ended_at ? sys::boottime_ms() - helper.facts.ended_at : keep_registered_ms;
    return helper.info.age.count() >= keep_registered_ms && since_end >= keep_registered_ms;
}

bool keeper_gone(const Helper& helper) {
    auto keeper = sys::open_same(helper.facts.keeper);
    if (!keeper)
        return keeper.error().code != Errc::unreachable; // one in another container may well live
    // One that somebody has stopped, and whose front is dead, has nobody else who would continue it.
    sys::continue_stopped(*keeper);
    // Killed this very moment, together with its host: it will not do anything any more.
    return sys::is_doomed(keeper->pid()) && keeper->wait_ended(sys::Deadline::in(patience));
}

} // namespace

std::vector<Swept> sweep(const std::string& directory, const std::set<std::string>* only) {
    std::vector<Swept> out;
    auto all = list_helpers(directory, {.measure = false, .with_history = true});
    if (!all)
        return out;
    std::vector<Helper> dead;
    std::vector<Ownership>
        claimed; // held until the end: nobody starts under these ids while we end what carries them
    for (Helper& helper : *all) {
        if (only && !only->contains(helper.id))
            continue;
        if (forgotten(helper)) {
            remove_unowned(directory, helper.id);
            continue;
        }
        if (helper.info.owner_stopped && !helper.facts.registered && host_is_dead(helper.facts))
            continue_guards({.directory = directory, .name = helper.id}, helper.info.epoch, helper.facts);
        if (helper.info.state == SlotState::owned || helper.facts.registered || !keeper_gone(helper))
            continue;
        if (helper.info.state == SlotState::orphaned &&
            was_stuck({.directory = directory, .name = helper.id}, only ? just_now : a_while))
            continue;
        if (helper.info.state == SlotState::free) {
            // A lock that is free may be history, or a starter that made the file this very moment. Only
            // whoever owns the entry knows that the mark is a dead one's: the starter finds it held and takes
            // another id.
            auto mine = claim_unowned(directory, helper.id);
            if (!mine)
                continue;
            claimed.push_back(std::move(*mine));
        }
        dead.push_back(std::move(helper));
    }
    std::vector<DeadEntry> entries;
    for (const Helper& helper : dead)
        entries.push_back({.id = helper.id,
                           .spare = helper.facts.spare,
                           .cgroup_place = helper.facts.cgroup_place,
                           .helper = helper.facts.helper});
    LeftBehind left(directory, std::move(entries));
    left.end();
    for (const std::string& id : left.stuck())
        note_stuck({.directory = directory, .name = id});
    for (const Ownership& mine : claimed)
        if (!left.stuck().contains(mine.location().name))
            remove_files(mine);
    claimed.clear();
    for (Helper& helper : dead) {
        if (helper.info.state == SlotState::orphaned && !left.stuck().contains(helper.id))
            remove_unowned(directory, helper.id);
        const auto ended = left.ended().find(helper.id);
        out.push_back({.id = helper.id,
                       .label = helper.facts.label,
                       .ended = ended != left.ended().end() ? ended->second : std::vector<int>{}});
    }
    return out;
}

void tell_of_swept(const EventLog& events, const std::vector<Swept>& swept) {
    for (const Swept& one : swept)
        if (!one.ended.empty())
            events.append({.unix_ms = 0,
                           .type = "reaped",
                           .id = one.id,
                           .label = one.label,
                           .pid = one.ended.front(),
                           .reason = base::cat("left behind; ", one.ended.size(), " processes"),
                           .status = {}});
}

} // namespace holdfast::registry
