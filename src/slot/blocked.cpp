#include "slot/blocked.hpp"

#include "base/text.hpp"
#include "records/paths.hpp"
#include "slot/leftovers.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>

namespace holdfast::slot {

namespace {

constexpr std::size_t most_shown = 5;

std::string user_for_people(uid_t user) {
    return user == 0 ? std::string("root") : base::cat("user ", user);
}

std::string leftover_for_people(const Leftover& leftover) {
    std::string out = base::cat("process ", leftover.pid, " (", leftover.command);
    const auto user = sys::user_of(leftover.pid);
    if (user && *user != ::geteuid())
        out += base::cat(", of ", user_for_people(*user),
                         ::geteuid() == 0 ? "" : ", whose processes this user may not signal");
    if (sys::is_doomed(leftover.pid))
        out += ", was killed and has not ended yet";
    return out + ")";
}

// How a process that may not be inspected is tied to a tree. The lower, the closer.
enum class Tie { cgroup, group, own_orphan, orphan };

struct Candidate {
    pid_t pid = 0;
    Tie tie = Tie::orphan;
};

std::optional<Tie> tie_between(pid_t pid, const sys::ProcStat& stat, const LostTree& tree) {
    const std::string cgroup = sys::read_cgroups(pid);
    if (cgroup.find(base::cat("/holdfast-", tree.id)) != std::string::npos)
        return Tie::cgroup;
    // The command leads a process group of its own. The kernel gives that number to no other while the group
    // has a member.
    if (tree.helper.pid > 0 && (stat.pgrp == tree.helper.pid || stat.session == tree.helper.pid))
        return Tie::group;
    // Whoever loses its parent comes to one that is older than the dead keeper.
    const auto parent = sys::read_stat(stat.ppid);
    if (tree.keeper.pid <= 0 || stat.start_ticks < tree.keeper.start_ticks || !parent ||
        parent->start_ticks >= tree.keeper.start_ticks)
        return std::nullopt;
    return sys::user_of(pid) == ::geteuid() ? Tie::own_orphan : Tie::orphan;
}

std::vector<Candidate> candidates(const std::vector<LostTree>& lost) {
    std::vector<Candidate> out;
    for (const pid_t pid : sys::all_pids()) {
        if (!sys::is_hidden(pid))
            continue;
        const auto stat = sys::read_stat(pid);
        if (!stat || stat->kernel_thread || stat->state == 'Z')
            continue;
        std::optional<Tie> closest;
        for (const LostTree& tree : lost)
            if (auto tie = tie_between(pid, *stat, tree); tie && (!closest || *tie < *closest))
                closest = tie;
        if (closest)
            out.push_back({.pid = pid, .tie = *closest});
    }
    std::ranges::stable_sort(out, {}, &Candidate::tie);
    // The group of the dead command says much, a place among all orphans little.
    if (!out.empty() && out.front().tie <= Tie::group)
        std::erase_if(out, [](const Candidate& one) { return one.tie > Tie::group; });
    return out;
}

std::string reason_of(Tie tie) {
    switch (tie) {
    case Tie::cgroup:
        return "in the cgroup of its dead keeper";
    case Tie::group:
        return "in the process group of its dead command";
    case Tie::own_orphan:
    case Tie::orphan:
        break;
    }
    return "an orphan, born after its dead keeper";
}

std::string hidden_for_people(const SlotLocation& location, const std::vector<LostTree>& lost) {
    std::string out = "a process that this user may not inspect";
    const std::vector<Candidate> found = candidates(lost);
    for (std::size_t i = 0; i < found.size() && i < most_shown; ++i) {
        const auto user = sys::user_of(found[i].pid);
        out += base::cat(i ? ", or " : "; it may be ", "process ", found[i].pid, " (",
                         sys::command_line_for_people(found[i].pid), ", of ",
                         user ? user_for_people(*user) : std::string("nobody"), "; ", reason_of(found[i].tie),
                         ")");
    }
    if (found.size() > most_shown)
        out += base::cat(", or one of ", found.size() - most_shown, " more");
    // Root ends what is of the slot's user, and names the rest: see is_of_the_slots_user().
    const bool of_another =
        std::ranges::any_of(found, [](const Candidate& one) { return sys::user_of(one.pid) != ::geteuid(); });
    return out + base::cat(of_another ? ". Root is told which one it is by: " : ". Root ends it with: ",
                           sys::join_command(
                               {"holdfast", "stop", location.name, "--slot-dir", location.directory}));
}

} // namespace

std::string leftovers_for_people(const std::vector<Leftover>& leftovers) {
    if (leftovers.empty())
        return "a process that cannot be seen from here";
    std::string out;
    for (std::size_t i = 0; i < leftovers.size() && i < most_shown; ++i)
        out += (i ? ", " : "") + leftover_for_people(leftovers[i]);
    if (leftovers.size() > most_shown)
        out += base::cat(" and ", leftovers.size() - most_shown, " more");
    return out;
}

std::string holders_for_people(const SlotLocation& location, const std::vector<LostTree>& lost) {
    std::vector<Leftover> holders;
    std::string others; // that root did not touch
    for (const pid_t pid : sys::find_life_holders(records::lock_path(location))) {
        holders.push_back({.pid = pid, .command = sys::command_line_for_people(pid)});
        if (!is_of_the_slots_user(location, pid))
            others += base::cat(" ", pid);
    }
    if (holders.empty())
        return ::geteuid() == 0 ? std::string("a process that cannot be seen from here (in another PID "
                                              "namespace, or the lock is in a message that nobody received)")
                                : hidden_for_people(location, lost);
    return leftovers_for_people(holders) +
           (others.empty()
                ? ""
                : base::cat(", left alone because the slot is another user's. If it is to end: kill -KILL",
                            others));
}

std::string blocked_for_people(const SlotLocation& location, const std::vector<LostTree>& lost) {
    return base::cat("the slot \"", location.name, "\" has lost its owner, but its life is still held by ",
                     holders_for_people(location, lost));
}

} // namespace holdfast::slot
