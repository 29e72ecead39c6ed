#include "registry/left_behind.hpp"

#include "core/text.hpp"
#include "registry/entry.hpp"
#include "registry/spare.hpp"
#include "slot/paths.hpp"
#include "sys/cgroup.hpp"
#include "sys/lock_file.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace holdfast::registry {

namespace {

constexpr std::chrono::milliseconds grace{2000};
constexpr std::chrono::milliseconds patience{10000};
// An exec takes well under a millisecond, and longer on a loaded machine. Who shows no environment for so
// long has none.
constexpr std::int64_t longest_exec_ms = 100;
constexpr int quiet_walks = 3;

std::string lock_of(const std::string& directory, const std::string& id) {
    return slot::lock_path({.directory = directory, .name = id});
}

// A daemon that the user named, or something that hangs below one.
bool is_spared(const DeadEntry& entry, pid_t pid) {
    auto spare = SpareList::compile(entry.spare);
    if (!spare || spare->empty())
        return false;
    auto stat = sys::read_stat(pid);
    return spare->matches(sys::join_command(sys::read_cmdline(pid))) ||
           (stat && stat->ppid > 1 && spare->matches(sys::join_command(sys::read_cmdline(stat->ppid))));
}

} // namespace

LeftBehind::LeftBehind(std::string directory, std::vector<DeadEntry> dead)
    : directory_(std::move(directory))
    , dead_(std::move(dead)) {}

bool LeftBehind::is_held(std::size_t entry) const {
    auto sight = sys::LockFile::look(lock_of(directory_, dead_[entry].id));
    return sight && sight->life_held && !sight->owned;
}

// It may be one of ours inside exec, whose environment is not there yet.
bool LeftBehind::is_unclear(pid_t pid) {
    auto stat = sys::read_stat(pid);
    if (!stat || stat->kernel_thread || stat->exiting || stat->state == 'Z' || stat->state == 'X')
        return false;
    const std::int64_t now = sys::boottime_ms();
    const auto [at, first_time] = blank_since_.try_emplace({pid, stat->start_ticks}, now);
    return first_time || now - at->second < longest_exec_ms;
}

// One pass, the youngest numbers first. Each by a pidfd opened first, and signalled at once: what forks and
// dies within a millisecond must be signalled while it is being looked at, not after the pass.
std::vector<LeftBehind::Found> LeftBehind::walk(bool polite) {
    std::vector<Found> out;
    saw_unclear_ = false;
    // Most have no holder, and looking for one costs a scan of all descriptors.
    std::vector<std::string> held_locks;
    held_locks.reserve(dead_.size());
    for (std::size_t i = 0; i < dead_.size(); ++i)
        held_locks.push_back(is_held(i) ? lock_of(directory_, dead_[i].id) : "");
    std::vector<pid_t> pids = sys::all_pids();
    std::ranges::sort(pids, std::greater<>());
    for (const pid_t pid : pids) {
        struct stat owner{};
        if (pid == ::getpid() || ::stat(core::cat("/proc/", pid).c_str(), &owner) != 0 ||
            owner.st_uid != ::geteuid())
            continue;
        auto process = sys::PidFd::open(pid);
        if (!process)
            continue;
        const std::string environment = sys::read_environment(pid).value_or("");
        const auto mark = sys::variable_in(environment, mark_variable);
        bool found = false;
        for (std::size_t i = 0; i < dead_.size() && !found; ++i) {
            const bool is_its =
                mark ? *mark == dead_[i].id : !held_locks[i].empty() && sys::holds_life(pid, held_locks[i]);
            if (!is_its || is_spared(dead_[i], pid) || process->ended())
                continue;
            found = true;
            static_cast<void>(process->signal(polite ? SIGTERM : SIGKILL));
            if (polite)
                static_cast<void>(process->signal(SIGCONT));
            out.push_back({i, std::move(*process)});
        }
        if (!found && environment.empty() && is_unclear(pid))
            saw_unclear_ = true;
    }
    return out;
}

void LeftBehind::clear_cgroups() {
    stuck_.clear();
    const std::string own = sys::Cgroup::own_place();
    // Asked of the kernel, not of the record: a keeper may have died before it could say that it made one.
    for (const DeadEntry& entry : dead_) {
        std::function<bool(pid_t)> spared;
        if (!entry.spare.empty())
            spared = [&entry](pid_t pid) { return is_spared(entry, pid); };
        auto cleared = sys::Cgroup::clear_left_behind(entry.cgroup_place.empty() ? own : entry.cgroup_place,
                                                      entry.id, spared);
        if (!cleared.all)
            stuck_.insert(entry.id);
        auto& ended = ended_[entry.id];
        ended.insert(ended.end(), cleared.ended.begin(), cleared.ended.end());
    }
}

void LeftBehind::end(bool now) {
    if (dead_.empty())
        return;
    clear_cgroups();
    // Politely the first time; what is found again had been forked meanwhile, or does not listen.
    bool polite = !now;
    const sys::Deadline end = sys::Deadline::in(grace + patience);
    std::vector<Found> found;
    // So nobody is there only when the kernel says that no life is held, and several walks have found no
    // mark.
    for (int quiet = 0; quiet < quiet_walks && !end.passed(); polite = false) {
        found = walk(polite);
        const sys::Deadline deadline = polite ? sys::Deadline::in(grace) : end;
        for (Found& one : found)
            if (one.process.wait_ended(deadline))
                ended_[dead_[one.entry].id].push_back(one.process.pid());
        bool held = false;
        for (std::size_t i = 0; i < dead_.size() && !held; ++i)
            held = dead_[i].spare.empty() && is_held(i);
        quiet = found.empty() && !held && !saw_unclear_ ? quiet + 1 : 0;
        if (found.empty() && quiet == 0)
            ::poll(nullptr, 0, 1); // whoever is in the middle of something gets on with it
    }
    for (Found& one : found)
        if (!one.process.ended())
            survivors_.push_back(std::move(one.process));
    clear_cgroups(); // once more: a keeper that was ended just now may have made one after the first look
}

std::vector<sys::PidFd> end_left_behind(const std::string& directory, const std::string& id,
                                        const sys::PidFd& keeper) {
    // Its descriptors close before its pidfd says that it has ended, so who hears of the one does not know
    // the other.
    if (keeper.fd() >= 0) {
        static_cast<void>(keeper.signal(SIGKILL));
        static_cast<void>(keeper.wait_ended(sys::Deadline::in(patience)));
    }
    LeftBehind left(directory, {{.id = id, .spare = {}, .cgroup_place = {}}});
    left.end();
    remove_unowned(directory, id);
    return left.take_survivors();
}

} // namespace holdfast::registry
