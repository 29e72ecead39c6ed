// Ending what dead keepers left behind: every process that carries the mark of an entry, holds its life, is
// in its cgroup, is the helper that its record names, or is a child of one of these. Found by walking /proc,
// again and again until nobody is found: one walk can miss a process that forks, and one inside exec shows no
// environment for an instant.
//
// Life counts whatever mark a process carries and whoever's it is: it has the descriptor from this tree, as
// no other process could. A helper that runs `holdfast run` of its own gives its children a mark of their
// own.
#pragma once

#include "base/identity.hpp"
#include "registry/spare.hpp"
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
    base::Identity helper = {};     // the command, if its record names it
};

class LeftBehind {
public:
    // Whoever calls this knows that nobody starts under these ids any more.
    LeftBehind(std::string directory, std::vector<DeadEntry> dead);

    // TERM and CONT to all, 2 s for them to go, then KILL, each by pidfd, for 12 s at most. Under `now` KILL
    // at once, which is also what happens to all inside a cgroup. Those that hold life and are not found, or
    // may not be signalled, are looked for for 300 ms: time enough to find one that forks all the time.
    void end(bool now = false);

    // Processes that have ended, by id.
    [[nodiscard]] const std::map<std::string, std::vector<int>>& ended() const noexcept { return ended_; }
    // The ids of entries that are not to be forgotten: their life is still held and nothing of it is spared,
    // a process of theirs lives on, or their cgroup could not be cleared.
    [[nodiscard]] const std::set<std::string>& stuck() const noexcept { return stuck_; }
    // What lives on, for a truthful report. Whoever is not found is not among them: then only stuck() tells.
    [[nodiscard]] std::vector<sys::PidFd> take_survivors() { return std::move(survivors_); }

private:
    struct Found {
        std::size_t entry = 0;
        sys::PidFd process;
        bool refused = false; // the kernel does not let us signal it
    };
    std::vector<Found> walk(bool polite);
    void meet(std::size_t entry, sys::PidFd process, bool polite, std::vector<Found>& out);
    void meet_named(bool polite, std::vector<Found>& out);
    void meet_children(bool polite, std::vector<Found>& out);
    [[nodiscard]] std::size_t entry_of(pid_t pid, const std::string& environment,
                                       const std::vector<std::string>& held_locks) const;
    [[nodiscard]] bool is_held(std::size_t entry) const; // by somebody, while nobody owns it
    [[nodiscard]] bool any_held() const;
    [[nodiscard]] bool is_spared(std::size_t entry, pid_t pid) const;
    bool is_unclear(pid_t pid);
    void clear_cgroups();
    void note_stuck(std::vector<Found> found);

    std::string directory_;
    std::vector<DeadEntry> dead_;
    std::vector<SpareList> spare_; // of each
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
