#include "slot/sweep.hpp"

#include "ending/ender.hpp"
#include "ending/left_behind.hpp"
#include "records/paths.hpp"
#include "records/record_file.hpp"
#include "slot/entry_files.hpp"
#include "slot/sight.hpp"
#include "slot/stopped_guards.hpp"
#include "sys/clock.hpp"
#include "sys/lock_file.hpp"
#include "sys/parallel.hpp"
#include "sys/proc.hpp"
#include "sys/whole_file.hpp"

#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

namespace holdfast::slot {

namespace {

constexpr std::int64_t keep_registered_ms = 86'400'000;
constexpr std::int64_t just_now = 1000; // ms
constexpr std::int64_t a_while = 60'000;
constexpr std::size_t worth_threads = 200; // entries; fewer are read before a thread has begun

struct Entry {
    SlotInfo info; // its lock and record, as of a slot
    base::HelperFacts facts;
};

std::optional<Entry> look_at(const SlotLocation& location) {
    auto sight = sys::LockFile::look(records::lock_path(location));
    if (!sight || !sight->exists)
        return std::nullopt;
    auto record = records::read_record(location);
    Entry out{.info = describe(location, *sight, record), .facts = {}};
    if (record && record->helper)
        out.facts = std::move(*record->helper);
    return out;
}

std::vector<Entry> entries_of(const std::string& directory, const std::vector<std::string>& ids) {
    std::vector<std::optional<Entry>> seen(ids.size());
    sys::in_parallel(ids.size(), worth_threads, [&](std::size_t first, std::size_t last) {
        for (; first < last; ++first)
            seen[first] = look_at({.directory = directory, .name = ids[first]});
    });
    std::vector<Entry> out;
    for (std::optional<Entry>& one : seen)
        if (one)
            out.push_back(std::move(*one));
    return out;
}

// Notes the time (boot time in ms) at which something could not be ended. The note is a file beside the
// entry's own, because nobody can own the entry and write its record.
void note_stuck(const SlotLocation& entry) {
    (void)sys::put_whole(stuck_note_path(entry), std::to_string(sys::boottime_ms()));
}

bool was_stuck(const SlotLocation& entry, std::int64_t within_ms) {
    const auto text = sys::read_small_file(stuck_note_path(entry), 64);
    const std::int64_t age = text ? sys::boottime_ms() - std::strtoll(text->c_str(), nullptr, 10) : -1;
    return age >= 0 && age < within_ms; // one of an earlier boot is of another clock
}

// Registered entries belong to their hosts: the next start of the host adopts or ends the processes that they
// name. The sweep removes such an entry only when its process is gone and no host has come back for a day, or
// since the last boot.
bool forgotten(const Entry& entry) {
    const base::HelperFacts& facts = entry.facts;
    if (!facts.registered || entry.info.state != SlotState::free)
        return false;
    if (!facts.ended_at) {
        const auto process = sys::open_same(facts.helper);
        if (process || process.error().code == Errc::unreachable)
            return false; // in another PID namespace it cannot be judged from here
    }
    if (facts.helper.boot_id != sys::boot_id())
        return true;
    std::int64_t since_end = facts.ended_at ? sys::boottime_ms() - facts.ended_at : keep_registered_ms;
    return entry.info.age.count() >= keep_registered_ms && since_end >= keep_registered_ms;
}

bool keeper_gone(const base::HelperFacts& facts) {
    auto keeper = sys::open_same(facts.keeper);
    if (!keeper)
        return keeper.error().code != Errc::unreachable; // one in another container may well live
    // When a signal has stopped the keeper and its front is dead, nobody else continues it.
    sys::continue_stopped(*keeper);
    // It may have been killed this very moment, together with its host. Then it will not do anything any
    // more.
    return sys::is_doomed(keeper->pid()) && keeper->wait_ended(sys::Deadline::in(ending::default_patience));
}

ending::DeadEntry dead_entry(const std::string& id, const base::HelperFacts& facts) {
    return {.id = id, .spare = facts.spare, .cgroup_place = facts.cgroup_place, .helper = facts.helper};
}

} // namespace

std::vector<Swept> sweep(const std::string& directory, const std::set<std::string>* only) {
    std::vector<Swept> out;
    const std::vector<std::string> ids = only ? std::vector<std::string>(only->begin(), only->end())
                                              : entry_ids(directory).value_or(std::vector<std::string>());
    std::vector<Entry> dead;
    std::vector<Ownership> claimed; // kept until the end: nobody starts under these ids while we end the
                                    // processes that carry them
    for (Entry& entry : entries_of(directory, ids)) {
        const SlotLocation location{.directory = directory, .name = entry.info.name};
        if (forgotten(entry)) {
            remove_unowned(directory, location.name);
            continue;
        }
        if (entry.info.owner_stopped && !entry.facts.registered && host_is_dead(entry.facts))
            continue_guards(location, entry.info.epoch, entry.facts);
        if (entry.info.state == SlotState::owned || entry.facts.registered || !keeper_gone(entry.facts))
            continue;
        if (entry.info.state == SlotState::orphaned && was_stuck(location, only ? just_now : a_while))
            continue;
        if (entry.info.state == SlotState::free) {
            // A free lock may be history, or of a starter that made the file this very moment. Only the owner
            // of the entry knows that its mark is a dead one's. So we own it: a starter finds it held and
            // takes another id.
            auto mine = claim_unowned(directory, location.name);
            if (!mine)
                continue;
            claimed.push_back(std::move(*mine));
        }
        dead.push_back(std::move(entry));
    }
    std::vector<ending::DeadEntry> entries;
    for (const Entry& entry : dead)
        entries.push_back(dead_entry(entry.info.name, entry.facts));
    ending::LeftBehind left(directory, std::move(entries));
    left.end();
    for (const std::string& id : left.stuck())
        note_stuck({.directory = directory, .name = id});
    for (const Ownership& mine : claimed)
        if (!left.stuck().contains(mine.location().name))
            remove_entry_files(mine.location());
    claimed.clear();
    for (Entry& entry : dead) {
        const std::string& id = entry.info.name;
        if (entry.info.state == SlotState::orphaned && !left.stuck().contains(id))
            remove_unowned(directory, id);
        const auto ended = left.ended().find(id);
        out.push_back({.id = id,
                       .label = entry.facts.label,
                       .ended = ended != left.ended().end() ? ended->second : std::vector<int>{}});
    }
    return out;
}

std::vector<sys::PidFd> end_left_behind(const std::string& directory, const std::string& id,
                                        const sys::PidFd& keeper) {
    // The keeper's descriptors close before its pidfd says that it has ended. A caller that saw its socket
    // close does not know that it is gone.
    if (keeper.fd() >= 0) {
        if (auto held = keeper.duplicate()) {
            ending::Ender ender({.stages = ending::ask_then_kill(base::Millis{0}, true), .trees = false});
            ender.add(std::move(*held));
            (void)ender.finish();
        } else { // no descriptor is free: the one that we were given must do
            (void)keeper.signal(SIGKILL);
            (void)keeper.wait_ended(sys::Deadline::in(ending::default_patience));
        }
    }
    const auto record = records::read_record({.directory = directory, .name = id});
    const bool named = record && record->helper;
    ending::LeftBehind left(directory,
                            {{.id = id, .helper = named ? record->helper->helper : base::Identity{}}});
    left.end();
    remove_unowned(directory, id);
    return left.take_survivors();
}

} // namespace holdfast::slot
