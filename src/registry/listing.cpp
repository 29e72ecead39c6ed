#include "registry/listing.hpp"

#include "slot/paths.hpp"
#include "slot/sight.hpp"
#include "sys/lock_file.hpp"
#include "sys/proc.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace holdfast::registry {

namespace {

struct CloseDir {
    void operator()(DIR* dir) const { ::closedir(dir); }
};

struct Process {
    pid_t pid = 0;
    std::uint64_t rss_pages = 0;
    std::uint64_t cpu_ticks = 0;
};

// All processes by parent, from one pass over /proc.
std::unordered_multimap<pid_t, Process> processes_by_parent() {
    std::unordered_multimap<pid_t, Process> out;
    for (pid_t pid : sys::all_pids())
        if (auto stat = sys::read_stat(pid))
            out.emplace(stat->ppid, Process{pid, stat->rss_pages, stat->cpu_ticks});
    return out;
}

// What is below `root`; with root itself for a registered process, without it for a keeper, which is ours.
void measure(Helper& helper, pid_t root, bool with_root,
             const std::unordered_multimap<pid_t, Process>& by_parent) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::vector<pid_t> parents{root};
    if (auto stat = with_root ? sys::read_stat(root) : std::nullopt) {
        helper.tree_rss += stat->rss_pages * page;
        helper.tree_processes += 1;
        helper.cpu_ticks += stat->cpu_ticks;
    }
    for (std::size_t at = 0; at < parents.size(); ++at) {
        auto [first, last] = by_parent.equal_range(parents[at]);
        for (; first != last; ++first) {
            helper.tree_rss += first->second.rss_pages * page;
            helper.tree_processes += 1;
            helper.cpu_ticks += first->second.cpu_ticks;
            parents.push_back(first->second.pid);
        }
    }
}

} // namespace

Result<std::vector<Helper>> list_helpers(const std::string& directory, const ListOptions& options) {
    std::vector<Helper> out;
    std::unique_ptr<DIR, CloseDir> dir(::opendir(directory.c_str()));
    if (!dir)
        return out; // nobody has started a helper yet
    while (const dirent* entry = ::readdir(dir.get())) {
        std::string_view file(entry->d_name);
        if (!file.ends_with(".lock"))
            continue;
        SlotLocation location{.directory = directory, .name = std::string(file.substr(0, file.size() - 5))};
        auto sight = sys::LockFile::look(slot::lock_path(location));
        if (!sight || !sight->exists)
            continue;
        bool free = !sight->owned && !sight->life_held;
        auto record = slot::read_record(location);
        Helper helper;
        if (record && record->helper && record->helper->registered && !record->helper->ended_at) {
            auto process = sys::open_same(record->helper->helper);
            helper.alive = process.has_value();
            helper.elsewhere = !process && process.error().code == Errc::unreachable;
        }
        if (free && !options.with_history && !helper.alive)
            continue;
        helper.id = location.name;
        helper.info = slot::describe(location, *sight, record);
        if (record && record->helper)
            helper.facts = *record->helper;
        out.push_back(std::move(helper));
    }
    if (options.measure && !out.empty()) {
        auto by_parent = processes_by_parent();
        for (Helper& helper : out)
            if (helper.facts.keeper.pid > 0 || helper.alive)
                measure(helper, helper.alive ? helper.facts.helper.pid : helper.facts.keeper.pid,
                        helper.alive, by_parent);
    }
    std::sort(out.begin(), out.end(), [](const Helper& a, const Helper& b) {
        return a.info.age != b.info.age ? a.info.age > b.info.age : a.id < b.id;
    });
    return out;
}

std::vector<const Helper*> matching(const std::vector<Helper>& helpers, const std::string& word) {
    std::vector<const Helper*> out;
    for (const Helper& helper : helpers)
        if (helper.id == word || helper.facts.label == word ||
            (word.size() >= 4 && helper.id.starts_with(word)))
            out.push_back(&helper);
    return out;
}

} // namespace holdfast::registry
