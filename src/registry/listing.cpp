#include "registry/listing.hpp"

#include "base/text.hpp"
#include "records/paths.hpp"
#include "records/record_file.hpp"
#include "slot/entry_files.hpp"
#include "slot/sight.hpp"
#include "sys/lock_file.hpp"
#include "sys/parallel.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace holdfast::registry {

namespace {

struct Process {
    pid_t pid = 0;
    std::uint64_t rss_pages = 0;
    std::uint64_t cpu_ticks = 0;
    bool unread = false; // its place is known, and nothing else of it
};

using ProcessesByParent = std::unordered_multimap<pid_t, Process>;

struct Processes {
    ProcessesByParent by_parent;
    std::unordered_set<pid_t> stopped;
};

constexpr std::size_t worth_threads = 200; // files to be read; fewer are done before a thread has begun
// Fronts of one host: fewer are read sooner than the children of all threads of the host.
constexpr std::size_t worth_children = 32;

using Helpers = std::vector<std::optional<Helper>>;
using ParentOf = std::unordered_map<pid_t, pid_t>;

// Guards whose parent the kernel need not be asked for one by one. They count in a tree only where one helper
// runs inside another, so their files in /proc, two of three, are mostly not wanted.
ParentOf guards_with_known_parent(const Helpers& helpers, const ListOptions& options) {
    ParentOf out;
    std::unordered_map<pid_t, std::unordered_set<pid_t>> fronts_of;
    const std::uint64_t our_namespace = sys::pid_namespace_inode();
    for (const std::optional<Helper>& helper : helpers) {
        if (!helper || !helper->owner_started_keeper || helper->facts.keeper.pid_ns != our_namespace ||
            helper->facts.keeper.boot_id != sys::boot_id())
            continue;
        // The number cannot be another's: a dead keeper is a zombie until its parent, the owner, reaps it.
        out.emplace(helper->facts.keeper.pid, helper->info.owner_pid);
        if (!options.stopped && helper->facts.host_pid > 0)
            fronts_of[helper->facts.host_pid].insert(helper->info.owner_pid);
    }
    for (const auto& [host, fronts] : fronts_of) {
        if (fronts.size() < worth_children)
            continue;
        for (pid_t child : sys::children_of(host))
            if (fronts.contains(child))
                out.emplace(child, host);
    }
    return out;
}

// All of them, from one pass over /proc.
Processes all_processes(const ParentOf& known) {
    Processes out;
    std::vector<pid_t> pids = sys::all_pids();
    out.by_parent.reserve(pids.size());
    std::erase_if(pids, [&](pid_t pid) {
        const auto guard = known.find(pid);
        if (guard != known.end())
            out.by_parent.emplace(guard->second, Process{.pid = pid, .unread = true});
        return guard != known.end();
    });
    std::vector<std::optional<sys::ProcStat>> seen(pids.size());
    sys::in_parallel(pids.size(), worth_threads, [&](std::size_t first, std::size_t last) {
        for (; first < last; ++first)
            seen[first] = sys::read_stat(pids[first]);
    });
    for (std::size_t i = 0; i < pids.size(); ++i) {
        if (!seen[i])
            continue;
        out.by_parent.emplace(
            seen[i]->ppid,
            Process{.pid = pids[i], .rss_pages = seen[i]->rss_pages, .cpu_ticks = seen[i]->cpu_ticks});
        if (seen[i]->state == 'T')
            out.stopped.insert(pids[i]);
    }
    return out;
}

void add(Helper& helper, std::uint64_t rss_pages, std::uint64_t cpu_ticks) {
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    helper.tree_rss += rss_pages * page;
    helper.tree_processes += 1;
    helper.cpu_ticks += cpu_ticks;
}

// What is below `root`; with root itself for a registered process, without it for a keeper, which is ours.
void measure(Helper& helper, pid_t root, bool with_root, const ProcessesByParent& by_parent,
             std::unordered_set<pid_t>& counted) {
    if (!counted.insert(root).second)
        return;
    std::vector<pid_t> parents{root};
    if (auto stat = with_root ? sys::read_stat(root) : std::nullopt)
        add(helper, stat->rss_pages, stat->cpu_ticks);
    for (std::size_t at = 0; at < parents.size(); ++at) {
        auto [first, last] = by_parent.equal_range(parents[at]);
        for (; first != last; ++first) {
            const Process& process = first->second;
            if (!counted.insert(process.pid).second)
                continue;
            parents.push_back(process.pid);
            if (!process.unread)
                add(helper, process.rss_pages, process.cpu_ticks);
            else if (auto stat = sys::read_stat(process.pid))
                add(helper, stat->rss_pages, stat->cpu_ticks);
        }
    }
}

// With no keeper above them they are not below anybody: those that hold the life, and what is below them.
void measure_abandoned(Helper& helper, const ProcessesByParent& by_parent) {
    std::unordered_set<pid_t> counted;
    std::vector<pid_t> roots;
    if (sys::open_same(helper.facts.helper))
        roots.push_back(helper.facts.helper.pid);
    for (const Leftover& leftover : helper.info.leftovers)
        roots.push_back(leftover.pid);
    for (pid_t root : roots)
        measure(helper, root, true, by_parent, counted);
}

// Who took the entry over, to end what is left, started later than the keeper.
bool owner_started_keeper(const Helper& helper, const base::Identity& owner) {
    const base::Identity& keeper = helper.facts.keeper;
    return helper.info.owner_pid > 0 && helper.info.record_is_current && owner.pid == helper.info.owner_pid &&
           keeper.pid > 0 && keeper.pid_ns == owner.pid_ns && owner.start_ticks <= keeper.start_ticks;
}

// The helper behind an entry; nothing when it is over and history is not asked for. Error: not_permitted;
// what may not be looked at is not "none".
Result<std::optional<Helper>> look_at(const SlotLocation& location, const ListOptions& options) {
    auto sight = sys::LockFile::look(records::lock_path(location));
    if (!sight && sight.error().code == Errc::not_permitted)
        return std::unexpected(std::move(sight.error()));
    if (!sight || !sight->exists)
        return std::nullopt;
    bool free = !sight->owned && !sight->life_held;
    auto record = records::read_record(location);
    Helper helper;
    if (record && record->helper && record->helper->registered && !record->helper->ended_at) {
        auto process = sys::open_same(record->helper->helper);
        helper.alive = process.has_value();
        helper.elsewhere = !process && process.error().code == Errc::unreachable;
    }
    if (free && !options.with_history && !helper.alive)
        return std::nullopt;
    helper.id = location.name;
    // Whether its owner is stopped is seen in the pass over all processes, where there is one.
    helper.info = slot::describe(location, *sight, record, !options.measure);
    helper.being_born = sight->owned && !(record && record->helper);
    if (record && record->helper)
        helper.facts = std::move(*record->helper);
    helper.owner_started_keeper = options.measure && record && owner_started_keeper(helper, record->identity);
    if (helper.info.state == SlotState::orphaned && !helper.facts.registered) {
        auto keeper = sys::open_same(helper.facts.keeper);
        helper.abandoned = !keeper && keeper.error().code != Errc::unreachable;
    }
    return helper;
}

} // namespace

Result<std::vector<Helper>> list_helpers(const std::string& directory, const ListOptions& options) {
    auto entries = slot::entry_ids(directory);
    if (!entries)
        return std::unexpected(std::move(entries.error()));
    const std::vector<std::string>& names = *entries;
    Helpers seen(names.size());
    Processes processes;
    std::mutex mutex;
    std::optional<Error> denied;
    sys::in_parallel(names.size(), worth_threads, [&](std::size_t first, std::size_t last) {
        for (; first < last; ++first) {
            auto helper = look_at({.directory = directory, .name = names[first]}, options);
            if (helper) {
                seen[first] = std::move(*helper);
                continue;
            }
            const std::lock_guard lock(mutex);
            denied = std::move(helper.error());
        }
    });
    if (denied)
        return std::unexpected(std::move(*denied));
    if (options.measure && !names.empty())
        processes = all_processes(guards_with_known_parent(seen, options));
    std::vector<Helper> out;
    out.reserve(seen.size());
    for (std::optional<Helper>& helper : seen)
        if (helper)
            out.push_back(std::move(*helper));
    const ProcessesByParent& by_parent = processes.by_parent;
    for (Helper& helper : out) {
        std::unordered_set<pid_t> counted;
        if (options.measure)
            helper.info.owner_stopped = processes.stopped.contains(helper.info.owner_pid);
        if (options.measure && helper.abandoned)
            measure_abandoned(helper, by_parent);
        else if (options.measure && (helper.facts.keeper.pid > 0 || helper.alive))
            measure(helper, helper.alive ? helper.facts.helper.pid : helper.facts.keeper.pid, helper.alive,
                    by_parent, counted);
    }
    std::sort(out.begin(), out.end(), [](const Helper& a, const Helper& b) {
        return a.info.age != b.info.age ? a.info.age > b.info.age : a.id < b.id;
    });
    return out;
}

std::vector<const Helper*> matching(const std::vector<Helper>& helpers, const std::string& word) {
    constexpr std::size_t least_digits = 4;
    std::vector<const Helper*> out;
    for (const Helper& helper : helpers)
        if (helper.id == word || helper.facts.label == word)
            out.push_back(&helper);
    if (!out.empty() || word.size() < least_digits)
        return out;
    for (const Helper& helper : helpers)
        if (helper.id.starts_with(word))
            out.push_back(&helper);
    if (out.size() > 1)
        out.clear(); // it does not say which
    return out;
}

} // namespace holdfast::registry
