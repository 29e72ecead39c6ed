#include "ending/by_mark.hpp"

#include "base/text.hpp"
#include "records/paths.hpp"
#include "sys/clock.hpp"
#include "sys/directories.hpp"
#include "sys/lock_file.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>

namespace holdfast::ending {

namespace {
// An exec takes well under a millisecond, and longer on a loaded machine. A process that shows no environment
// for this long has none.
constexpr std::int64_t longest_exec_ms = 100;
constexpr std::size_t of_none = static_cast<std::size_t>(-1);
} // namespace

ByMark::ByMark(std::string directory, const std::vector<DeadEntry>& dead) {
    for (const DeadEntry& one : dead)
        entries_.push_back({.id = one.id,
                            .lock = records::lock_path({.directory = directory, .name = one.id}),
                            .spares = !one.spare.empty()});
}

bool ByMark::is_held(std::size_t entry) const {
    auto sight = sys::LockFile::look(entries_[entry].lock);
    return sight && sight->life_held && !sight->owned;
}

Left ByMark::left() {
    for (std::size_t at = 0; at < entries_.size(); ++at)
        if (!entries_[at].spares && is_held(at))
            return Left::hidden;
    return saw_unclear_ ? Left::unclear : Left::nobody;
}

bool ByMark::is_unclear(pid_t pid) {
    auto stat = sys::read_stat(pid);
    if (!stat || stat->kernel_thread || stat->exiting || stat->state == 'Z' || stat->state == 'X')
        return false;
    const std::int64_t now = sys::boottime_ms();
    const auto [at, first_time] = blank_since_.try_emplace({pid, stat->start_ticks}, now);
    return first_time || now - at->second < longest_exec_ms;
}

std::size_t ByMark::entry_of(pid_t pid, const std::string& environment, const std::vector<bool>& held) const {
    const auto mark = sys::variable_in(environment, mark_variable);
    for (std::size_t at = 0; mark && at < entries_.size(); ++at)
        if (*mark == entries_[at].id)
            return at;
    for (std::size_t at = 0; at < entries_.size(); ++at)
        if (held[at] && sys::holds_life(pid, entries_[at].lock))
            return at;
    return of_none;
}

// One pass, the youngest numbers first.
void ByMark::find(const Meet& meet) {
    saw_unclear_ = false;
    // Most lives are free, and to look for a holder costs a scan of all descriptors.
    std::vector<bool> held;
    held.reserve(entries_.size());
    for (std::size_t at = 0; at < entries_.size(); ++at)
        held.push_back(is_held(at));
    std::vector<pid_t> pids = sys::all_pids();
    std::ranges::sort(pids, std::greater<>());
    const uid_t self = ::geteuid();
    for (const pid_t pid : pids) {
        const auto owner = sys::owner_of_directory(base::cat("/proc/", pid));
        if (pid == ::getpid() || !owner)
            continue;
        // Root sees the processes of all users, and a helper of root may have changed its user.
        const bool mine = *owner == self;
        if (!mine && self != 0)
            continue;
        auto process = sys::PidFd::open(pid);
        if (!process)
            continue;
        const std::string environment = sys::read_environment(pid).value_or("");
        const std::size_t entry = entry_of(pid, environment, held);
        if (entry != of_none)
            meet({.process = std::move(*process), .of = entry});
        else if (mine && environment.empty() && is_unclear(pid))
            saw_unclear_ = true;
    }
}

} // namespace holdfast::ending
