// Ends the processes that dead keepers left behind: each process that carries the mark of an entry, holds its
// life, is in its cgroup, is the helper that its record names, or is a child of one of these.
#pragma once

#include "ending/mark.hpp"
#include "ending/report.hpp"
#include "ending/spare.hpp"
#include "sys/pidfd.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace holdfast::ending {

class LeftBehind {
public:
    // The caller makes sure that nobody starts under these ids any more. Their lock files are in `directory`.
    LeftBehind(std::string directory, std::vector<DeadEntry> dead);

    // TERM and CONT to all, the default grace, KILL, the default patience. With `now` KILL at once. Processes
    // inside a cgroup are always killed at once. When life is held and its holder is not found, or may not be
    // signalled, the search takes 300 ms: enough to find a process that forks all the time.
    void end(bool now = false);

    // The processes that have ended, by id.
    [[nodiscard]] const std::map<std::string, std::vector<int>>& ended() const noexcept { return ended_; }
    // The ids of entries that must not be removed: their life is still held and they spare nothing, a process
    // of theirs lives on, or their cgroup could not be cleared.
    [[nodiscard]] const std::set<std::string>& stuck() const noexcept { return stuck_; }
    // The processes that live on. A process that was not found is not among them: only stuck() tells of it.
    [[nodiscard]] std::vector<Leftover> survivors() const { return report_.leftovers(); }
    [[nodiscard]] std::vector<sys::PidFd> take_survivors();

private:
    [[nodiscard]] bool is_spared(std::size_t entry, pid_t pid) const;
    void clear_cgroups();

    std::string directory_;
    std::vector<DeadEntry> dead_;
    std::vector<SpareList> spare_; // of each
    std::map<std::string, std::vector<int>> ended_;
    std::set<std::string> stuck_;
    Report report_;
};

} // namespace holdfast::ending
