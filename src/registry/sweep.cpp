#include "registry/sweep.hpp"

#include "core/text.hpp"
#include "holdfast/slot.hpp"
#include "registry/entry.hpp"
#include "registry/listing.hpp"
#include "slot/paths.hpp"
#include "sys/cgroup.hpp"
#include "sys/lock_holders.hpp"
#include "sys/pidfd.hpp"
#include "sys/proc.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
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

// Processes that hold the life of a dead entry or carry its mark, found in one pass. Each by a pidfd opened first.
std::vector<Marked> find_marked(const std::string& directory, const std::vector<Helper>& dead) {
    std::vector<Marked> out;
    for (pid_t pid : sys::all_pids()) {
        if (pid == ::getpid())
            continue;
        struct stat owner {};
        if (::stat(core::cat("/proc/", pid).c_str(), &owner) != 0 || owner.st_uid != ::geteuid())
            continue;
        auto process = sys::PidFd::open(pid);
        if (!process)
            continue;
        auto mark = sys::read_environment_variable(pid, mark_variable);
        for (const Helper& helper : dead) {
            bool marked = mark && *mark == helper.id;
            bool holds = !marked && helper.info.state == SlotState::orphaned &&
                         std::any_of(helper.info.leftovers.begin(), helper.info.leftovers.end(),
                                     [pid](const Leftover& leftover) { return leftover.pid == pid; }) &&
                         sys::holds_life(pid, slot::lock_path({.directory = directory, .name = helper.id}));
            if ((marked || holds) && !process->ended()) {
                out.push_back({helper.id, std::move(*process)});
                break;
            }
        }
    }
    return out;
}

// Registered entries are their hosts' business: the next start of the host adopts or ends what they name. Only what no
// host came back for in a day, or since the last boot, and whose process is gone as well, is cleared away here.
bool forgotten(const Helper& helper) {
    if (!helper.facts.registered || helper.info.state != SlotState::free || helper.alive)
        return false;
    if (helper.facts.helper.boot_id != sys::boot_id())
        return true;
    if (helper.elsewhere)
        return false; // it cannot be judged from here
    std::int64_t since_end = helper.facts.ended_at ? sys::boottime_ms() - helper.facts.ended_at : keep_registered_ms;
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
    for (Helper& helper : *all) {
        if (forgotten(helper))
            remove_unowned(directory, helper.id);
        else if (helper.info.state != SlotState::owned && !helper.facts.registered && keeper_gone(helper))
            dead.push_back(std::move(helper));
    }
    if (dead.empty())
        return out;

    for (const Helper& helper : dead)
        if (helper.facts.containment == "cgroup")
            sys::Cgroup::clear_left_behind(helper.id);
    std::unordered_map<std::string, std::vector<int>> ended;
    for (int round = 0; round < 100; ++round) {
        std::vector<Marked> marked = find_marked(directory, dead);
        if (marked.empty())
            break;
        // Politely the first time; what is found again had been forked meanwhile, or does not listen.
        bool polite = round == 0;
        for (const Marked& one : marked) {
            (void)one.process.signal(polite ? SIGTERM : SIGKILL);
            if (polite)
                (void)one.process.signal(SIGCONT);
        }
        sys::Deadline deadline = sys::Deadline::in(polite ? grace : patience);
        for (Marked& one : marked)
            if (one.process.wait_ended(deadline))
                ended[one.id].push_back(one.process.pid());
        for (const Marked& one : marked)
            if (!one.process.ended())
                (void)one.process.signal(SIGKILL);
    }
    for (Helper& helper : dead) {
        remove_unowned(directory, helper.id);
        out.push_back({.id = helper.id, .label = helper.facts.label, .ended = ended[helper.id]});
    }
    return out;
}

} // namespace holdfast::registry
