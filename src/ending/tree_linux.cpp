#include "ending/tree.hpp"

#include "sys/errors.hpp"
#include "sys/proc.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_set>

namespace holdfast::ending {

Result<Tree> Tree::below_this_process() {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return sys::fail_sys("become a subreaper");
    return Tree();
}

bool Tree::is_spared(pid_t pid) const {
    return !spare_.empty() && spare_.matches(sys::join_command(sys::read_cmdline(pid)));
}

std::vector<Tree::Member> Tree::members() const {
    std::vector<Member> out;
    std::vector<pid_t> parents{::getpid()};
    std::unordered_set<pid_t> known;
    for (std::size_t at = 0; at < parents.size(); ++at) {
        for (pid_t child : sys::children_of(parents[at])) {
            if (std::find(left_out_.begin(), left_out_.end(), child) != left_out_.end() ||
                !known.insert(child).second)
                continue;
            auto stat = sys::read_stat(child);
            if (!stat)
                continue;
            out.push_back(
                {.pid = child, .parent = stat->ppid, .start_ticks = stat->start_ticks, .state = stat->state});
            parents.push_back(child);
        }
    }
    return out;
}

std::vector<Tree::Member> Tree::members_to_end() const {
    std::vector<Member> all = members();
    std::unordered_set<pid_t> spared;
    if (spares_some())
        std::erase_if(all, [&](const Member& member) {
            return (spared.contains(member.parent) || is_spared(member.pid)) &&
                   spared.insert(member.pid).second;
        });
    return all;
}

void Tree::find(const Meet& meet) {
    const std::vector<Member> all = members_to_end();
    std::unordered_set<pid_t> inside{::getpid()};
    for (const Member& member : all)
        inside.insert(member.pid);
    for (const Member& member : all) {
        if (member.state == 'Z')
            continue;
        auto process = sys::PidFd::open(member.pid);
        if (!process)
            continue;
        // Pidfd first, then: is this still the one that was seen, and still below us?
        auto stat = sys::read_stat(member.pid);
        if (stat && stat->start_ticks == member.start_ticks && inside.contains(stat->ppid))
            meet({.process = std::move(*process), .start_ticks = member.start_ticks});
    }
}

void Tree::reap(const std::function<void(const Ended&)>& tell) {
    for (;;) {
        siginfo_t info{};
        rusage usage{};
        if (::syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | __WALL, &usage) != 0 ||
            info.si_pid == 0)
            return;
        Ended ended{.pid = info.si_pid, .exit = {}};
        ended.exit.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
        ended.exit.status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
        ended.exit.core = info.si_code == CLD_DUMPED;
        ended.exit.cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                            (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
        ended.exit.max_rss_kb = usage.ru_maxrss;
        std::erase(left_out_, ended.pid);
        tell(ended);
    }
}

bool Tree::empty() {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 && errno == ECHILD)
        return true;
    if (left_out_.empty() && spare_.empty())
        return false; // some child is there, alive or to be reaped
    for (pid_t child : sys::children_of(::getpid()))
        if (std::find(left_out_.begin(), left_out_.end(), child) == left_out_.end() && !is_spared(child))
            return false;
    // All that is below a spared or left out process is its own.
    return true;
}

std::vector<std::pair<pid_t, std::string>> Tree::survivors() {
    std::vector<std::pair<pid_t, std::string>> out;
    for (const Member& member : members_to_end())
        if (member.state != 'Z')
            out.emplace_back(member.pid, sys::command_line_for_people(member.pid));
    return out;
}

} // namespace holdfast::ending
