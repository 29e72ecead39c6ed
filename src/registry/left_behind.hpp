// Ending what dead keepers left behind: every process that carries the mark of an entry, holds its life, or
// is in its cgroup. Found by walking /proc, again and again until nobody is found: one walk can miss a
// process that forks, and one inside exec shows no environment for an instant.
#pragma once

#include "sys/clock.hpp"
#include "sys/pidfd.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::registry {

struct DeadEntry {
    std::string id;
    std::vector<std::string> spare; // patterns of daemons that are meant to stay
    std::string cgroup_place;       // where its cgroup was made, if one was; empty: where ours would be
};

class LeftBehind {
public:
    // Whoever calls this knows that nobody starts under these ids any more.
    LeftBehind(std::string directory, std::vector<DeadEntry> dead);

    // TERM and CONT to all, 2 s for them to go, then KILL, each by pidfd, for 12 s at most. Under `now` KILL
    // at once, which is also what happens to all inside a cgroup.
    void end(bool now = false);

    // Processes that have ended, by id.
    [[nodiscard]] const std::map<std::string, std::vector<int>>& ended() const noexcept { return ended_; }
    // The ids of entries whose cgroup could not be cleared: they are not to be forgotten.
    [[nodiscard]] const std::set<std::string>& stuck() const noexcept { return stuck_; }
    // What lives on, for a truthful report.
    [[nodiscard]] std::vector<sys::PidFd> take_survivors() { return std::move(survivors_); }

private:
    struct Found {
        std::size_t entry = 0;
        sys::PidFd process;
    };
    std::vector<Found> walk(bool polite);
    [[nodiscard]] bool is_held(std::size_t entry) const; // by somebody, while nobody owns it
    bool is_unclear(pid_t pid);
    void clear_cgroups();

    std::string directory_;
    std::vector<DeadEntry> dead_;
    std::map<std::string, std::vector<int>> ended_;
    std::set<std::string> stuck_;
    std::vector<sys::PidFd> survivors_;
    // Processes that show no environment, by number and start, with the time at which that was first seen.
    std::map<std::pair<pid_t, std::uint64_t>, std::int64_t> blank_since_;
    bool saw_unclear_ = false;
};

// The keeper of entry `id` is gone or on its way out: sees to its end, ends its tree, and removes the entry.
// Returns what could not be ended.
std::vector<sys::PidFd> end_left_behind(const std::string& directory, const std::string& id,
                                        const sys::PidFd& keeper);

} // namespace holdfast::registry
