#include "registry/left_behind.hpp"

#include "base/text.hpp"
#include "records/paths.hpp"
#include "records/record_file.hpp"
#include "registry/entry.hpp"
#include "slot/sight.hpp"
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
constexpr std::chrono::milliseconds search_for_unseen{300};
constexpr std::size_t of_none = static_cast<std::size_t>(-1);

std::string lock_of(const std::string& directory, const std::string& id) {
    return records::lock_path({.directory = directory, .name = id});
}

// Each by a pidfd that was opened before it said whose child it is, and while the parent's number was its
// own.
std::vector<sys::PidFd> hold_children(const sys::PidFd& parent) {
    std::vector<sys::PidFd> out;
    for (const pid_t child : sys::children_of(parent.pid())) {
        auto process = sys::PidFd::open(child);
        auto stat = sys::read_stat(child);
        if (process && stat && stat->ppid == parent.pid() && !parent.ended())
            out.push_back(std::move(*process));
    }
    return out;
}

} // namespace

LeftBehind::LeftBehind(std::string directory, std::vector<DeadEntry> dead)
    : directory_(std::move(directory))
    , dead_(std::move(dead)) {
    for (const DeadEntry& entry : dead_)
        spare_.push_back(SpareList::compile(entry.spare).value_or(SpareList{}));
}

bool LeftBehind::is_held(std::size_t entry) const {
    auto sight = sys::LockFile::look(lock_of(directory_, dead_[entry].id));
    return sight && sight->life_held && !sight->owned;
}

// A spared daemon holds the life of its entry, and is no reason to go on.
bool LeftBehind::any_held() const {
    for (std::size_t i = 0; i < dead_.size(); ++i)
        if (dead_[i].spare.empty() && is_held(i))
            return true;
    return false;
}

// A daemon that the user named, or something that hangs below one.
bool LeftBehind::is_spared(std::size_t entry, pid_t pid) const {
    const SpareList& spare = spare_[entry];
    if (spare.empty())
        return false;
    auto stat = sys::read_stat(pid);
    return spare.matches(sys::join_command(sys::read_cmdline(pid))) ||
           (stat && stat->ppid > 1 && spare.matches(sys::join_command(sys::read_cmdline(stat->ppid))));
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

// The caller opened the pidfd before it found out whose it is. Signalled at once: what forks and dies within
// a millisecond must be signalled while it is being looked at, not after the walk.
void LeftBehind::meet(std::size_t entry, sys::PidFd process, bool polite, std::vector<Found>& out) {
    if (process.pid() == ::getpid() || process.ended() || is_spared(entry, process.pid()) ||
        std::ranges::any_of(out, [&](const Found& one) { return one.process.pid() == process.pid(); }))
        return;
    auto sent = process.signal(polite ? SIGTERM : SIGKILL);
    if (polite)
        static_cast<void>(process.signal(SIGCONT));
    out.push_back({.entry = entry, .process = std::move(process), .refused = !sent.has_value()});
}

// The helpers that the records name: they may be such as nobody but root may inspect (not dumpable), and
// their identity is proof enough.
void LeftBehind::meet_named(bool polite, std::vector<Found>& out) {
    for (std::size_t i = 0; i < dead_.size(); ++i)
        if (dead_[i].helper.pid > 0)
            if (auto process = sys::open_same(dead_[i].helper)) {
                // Before the first signal: children of one that ends may be such, too, and nobody's then.
                std::vector<sys::PidFd> tree;
                tree.push_back(std::move(*process));
                for (std::size_t at = 0; at < tree.size(); ++at)
                    for (sys::PidFd& child : hold_children(tree[at]))
                        tree.push_back(std::move(child));
                for (sys::PidFd& one : tree)
                    meet(i, std::move(one), polite, out);
            }
}

// And theirs: `out` grows while we walk through it.
void LeftBehind::meet_children(bool polite, std::vector<Found>& out) {
    for (std::size_t at = 0; at < out.size(); ++at)
        for (sys::PidFd& child : hold_children(out[at].process))
            meet(out[at].entry, std::move(child), polite, out);
}

std::size_t LeftBehind::entry_of(pid_t pid, const std::string& environment,
                                 const std::vector<std::string>& held_locks) const {
    const auto mark = sys::variable_in(environment, mark_variable);
    for (std::size_t i = 0; mark && i < dead_.size(); ++i)
        if (*mark == dead_[i].id)
            return i;
    for (std::size_t i = 0; i < dead_.size(); ++i)
        if (!held_locks[i].empty() && sys::holds_life(pid, held_locks[i]))
            return i;
    return of_none;
}

// One pass, the youngest numbers first.
std::vector<LeftBehind::Found> LeftBehind::walk(bool polite) {
    std::vector<Found> out;
    saw_unclear_ = false;
    // Most have no holder, and looking for one costs a scan of all descriptors.
    std::vector<std::string> held_locks;
    held_locks.reserve(dead_.size());
    for (std::size_t i = 0; i < dead_.size(); ++i)
        held_locks.push_back(is_held(i) ? lock_of(directory_, dead_[i].id) : "");
    meet_named(polite, out);
    std::vector<pid_t> pids = sys::all_pids();
    std::ranges::sort(pids, std::greater<>());
    const uid_t self = ::geteuid();
    for (const pid_t pid : pids) {
        struct stat owner{};
        if (pid == ::getpid() || ::stat(base::cat("/proc/", pid).c_str(), &owner) != 0)
            continue;
        // Root sees everybody's, and a helper of root's may have changed its user.
        const bool mine = owner.st_uid == self;
        if (!mine && self != 0)
            continue;
        auto process = sys::PidFd::open(pid);
        if (!process)
            continue;
        const std::string environment = sys::read_environment(pid).value_or("");
        const std::size_t entry = entry_of(pid, environment, held_locks);
        if (entry != of_none)
            meet(entry, std::move(*process), polite, out);
        else if (mine && environment.empty() && is_unclear(pid))
            saw_unclear_ = true;
    }
    meet_children(polite, out);
    return out;
}

void LeftBehind::clear_cgroups() {
    stuck_.clear();
    const std::string own = sys::Cgroup::own_place();
    // Asked of the kernel, not of the record: a keeper may have died before it could say that it made one.
    for (std::size_t i = 0; i < dead_.size(); ++i) {
        const DeadEntry& entry = dead_[i];
        std::function<bool(pid_t)> spared;
        if (!entry.spare.empty())
            spared = [this, i](pid_t pid) { return is_spared(i, pid); };
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
    sys::Deadline search = sys::Deadline::never(); // from when nobody is found any more, though life is held
    std::vector<Found> found;
    // So nobody is there only when the kernel says that no life is held, and several walks have found no
    // mark.
    for (int quiet = 0, in_vain = 0; quiet < quiet_walks && !end.passed(); polite = false) {
        found = walk(polite);
        const sys::Deadline deadline = polite ? sys::Deadline::in(grace) : end;
        bool somebody = false; // who may go by what we do
        for (Found& one : found) {
            if (one.refused)
                continue;
            somebody = true;
            if (one.process.wait_ended(deadline))
                ended_[dead_[one.entry].id].push_back(one.process.pid());
        }
        const bool held = any_held();
        quiet = !somebody && !held && !saw_unclear_ ? quiet + 1 : 0;
        in_vain = !somebody && held ? in_vain + 1 : 0;
        if (in_vain <= 1)
            search = in_vain == 0 ? sys::Deadline::never() : sys::Deadline::in(search_for_unseen);
        // Held by such as we cannot find, or may not end: more of the same would not help.
        if (in_vain >= quiet_walks && search.passed())
            break;
        if (!somebody && quiet == 0)
            ::poll(nullptr, 0, 1); // whoever is in the middle of something gets on with it
    }
    clear_cgroups(); // once more: a keeper that was ended just now may have made one after the first look
    note_stuck(std::move(found));
}

void LeftBehind::note_stuck(std::vector<Found> found) {
    for (std::size_t i = 0; i < dead_.size(); ++i)
        if (dead_[i].spare.empty() && is_held(i))
            stuck_.insert(dead_[i].id);
    for (Found& one : found)
        if (!one.process.ended()) {
            stuck_.insert(dead_[one.entry].id);
            survivors_.push_back(std::move(one.process));
        }
}

std::vector<sys::PidFd> end_left_behind(const std::string& directory, const std::string& id,
                                        const sys::PidFd& keeper) {
    // Its descriptors close before its pidfd says that it has ended, so who hears of the one does not know
    // the other.
    if (keeper.fd() >= 0) {
        static_cast<void>(keeper.signal(SIGKILL));
        static_cast<void>(keeper.wait_ended(sys::Deadline::in(patience)));
    }
    const auto record = records::read_record({.directory = directory, .name = id});
    const bool named = record && record->helper;
    LeftBehind left(directory, {{.id = id, .helper = named ? record->helper->helper : base::Identity{}}});
    left.end();
    remove_unowned(directory, id);
    return left.take_survivors();
}

} // namespace holdfast::registry
