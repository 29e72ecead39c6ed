#include "registry/sweep.hpp"

#include "core/text.hpp"
#include "holdfast/slot.hpp"
#include "registry/entry.hpp"
#include "registry/listing.hpp"
#include "registry/spare.hpp"
#include "slot/paths.hpp"
#include "sys/cgroup.hpp"
#include "sys/lock_file.hpp"
#include "sys/lock_holders.hpp"
#include "sys/pidfd.hpp"
#include "sys/proc.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <unordered_map>

namespace holdfast::registry {

namespace {

constexpr std::chrono::milliseconds grace{2000};
constexpr std::chrono::milliseconds patience{10000};
constexpr std::int64_t keep_registered_ms = 86'400'000;

struct Marked {
    std::string id;
    sys::PidFd process;
};

bool is_held(const std::string& directory, const std::string& id) {
    auto sight = sys::LockFile::look(slot::lock_path({.directory = directory, .name = id}));
    return sight && sight->life_held && !sight->owned;
}

// A daemon that the user named, or something that hangs below one.
bool is_spared(const Helper& helper, pid_t pid) {
    auto spare = SpareList::compile(helper.facts.spare);
    if (!spare || spare->empty())
        return false;
    auto stat = sys::read_stat(pid);
    return spare->matches(sys::join_command(sys::read_cmdline(pid))) ||
           (stat && stat->ppid > 1 && spare->matches(sys::join_command(sys::read_cmdline(stat->ppid))));
}

// Processes that hold the life of a dead entry or carry its mark, found in one pass, the youngest numbers
// first. Each by a pidfd opened first, and told to `found` at once: what forks and dies within a millisecond
// must be signalled while it is being looked at, not after the pass.
std::vector<Marked> find_marked(const std::string& directory, const std::vector<Helper>& dead,
                                const std::function<void(const sys::PidFd&)>& found) {
    std::vector<Marked> out;
    std::vector<std::string>
        held_locks; // most have no holder, and looking for one costs a scan of all descriptors
    for (const Helper& helper : dead)
        held_locks.push_back(is_held(directory, helper.id)
                                 ? slot::lock_path({.directory = directory, .name = helper.id})
                                 : "");
    std::vector<pid_t> pids = sys::all_pids();
    for (auto at = pids.rbegin(); at != pids.rend(); ++at) {
        pid_t pid = *at;
        if (pid == ::getpid())
            continue;
        struct stat owner{};
        if (::stat(core::cat("/proc/", pid).c_str(), &owner) != 0 || owner.st_uid != ::geteuid())
            continue;
        auto process = sys::PidFd::open(pid);
        if (!process)
            continue;
        auto mark = sys::read_environment_variable(pid, mark_variable);
        for (std::size_t i = 0; i < dead.size(); ++i) {
            bool is_its =
                mark ? *mark == dead[i].id : !held_locks[i].empty() && sys::holds_life(pid, held_locks[i]);
            if (is_its && !is_spared(dead[i], pid) && !process->ended()) {
                found(*process);
                out.push_back({dead[i].id, std::move(*process)});
                break;
            }
        }
    }
    return out;
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
    return !keeper && keeper.error().code != Errc::unreachable; // one in another container may well live
}

} // namespace

std::vector<Swept> sweep(const std::string& directory) {
    std::vector<Swept> out;
    auto all = list_helpers(directory, {.measure = false, .with_history = true});
    if (!all)
        return out;
    std::vector<Helper> dead;
    std::vector<Ownership>
        claimed; // held until the end: nobody starts under these ids while we end what carries them
    for (Helper& helper : *all) {
        if (forgotten(helper)) {
            remove_unowned(directory, helper.id);
            continue;
        }
        if (helper.info.state == SlotState::owned || helper.facts.registered || !keeper_gone(helper))
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
    if (dead.empty())
        return out;

    // Asked of the kernel, not of the record: a keeper may have died before it could say that it made one.
    for (const Helper& helper : dead)
        sys::Cgroup::clear_left_behind(helper.id, helper.facts.spare.empty());
    std::unordered_map<std::string, std::vector<int>> ended;
    // Politely the first time; what is found again had been forked meanwhile, or does not listen.
    bool polite = true;
    sys::Deadline end = sys::Deadline::in(grace + patience);
    // A pass can miss what forks and dies faster than it is looked at. So nobody is there only when the
    // kernel says that no life is held, and several passes have found no mark.
    for (int empty_passes = 0; empty_passes < 3 && !end.passed(); polite = false) {
        std::vector<Marked> marked = find_marked(directory, dead, [polite](const sys::PidFd& process) {
            (void)process.signal(polite ? SIGTERM : SIGKILL);
            if (polite)
                (void)process.signal(SIGCONT);
        });
        sys::Deadline deadline = polite ? sys::Deadline::in(grace) : end;
        for (Marked& one : marked)
            if (one.process.wait_ended(deadline))
                ended[one.id].push_back(one.process.pid());
        bool quiet = marked.empty() && std::none_of(dead.begin(), dead.end(), [&](const Helper& helper) {
                         return helper.facts.spare.empty() && is_held(directory, helper.id);
                     });
        empty_passes = quiet ? empty_passes + 1 : 0;
    }
    // Once more: a keeper that was ended just now may have made one after the first look.
    for (const Helper& helper : dead)
        sys::Cgroup::clear_left_behind(helper.id, helper.facts.spare.empty());
    for (const Ownership& mine : claimed)
        remove_files(mine);
    claimed.clear();
    for (Helper& helper : dead) {
        if (helper.info.state == SlotState::orphaned)
            remove_unowned(directory, helper.id);
        out.push_back({.id = helper.id, .label = helper.facts.label, .ended = ended[helper.id]});
    }
    return out;
}

} // namespace holdfast::registry
