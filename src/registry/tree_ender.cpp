#include "registry/tree_ender.hpp"

#include "sys/proc.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <unordered_set>

namespace holdfast::registry {

namespace {
// SIGSTOP takes effect when its target next meets the kernel: so long we look, once a millisecond, whether
// all stand still.
constexpr int longest_freeze_ms = 100;

bool stands_still(pid_t pid) {
    auto stat = sys::read_stat(pid);
    return !stat || stat->state == 'T' || stat->state == 't' || stat->state == 'Z' || stat->state == 'X';
}
} // namespace

void TreeEnder::add(sys::PidFd process) {
    if (process.pid() != ::getpid() && !process.ended())
        members_.push_back({.process = std::move(process)});
}

// Adds the children of all members, and theirs. Returns how many were found.
std::size_t TreeEnder::grow() {
    std::unordered_set<pid_t> known{::getpid()};
    for (const Member& member : members_)
        if (!member.process.ended())
            known.insert(member.process.pid());
    std::size_t before = members_.size();
    for (std::size_t at = 0; at < members_.size(); ++at) {
        pid_t parent = members_[at].process.pid();
        if (members_[at].process.ended())
            continue;
        for (pid_t child : sys::children_of(parent)) {
            if (known.contains(child))
                continue;
            auto process = sys::PidFd::open(child);
            auto stat = sys::read_stat(child);
            // Pidfd first; then: it says that its parent has this number, and the number is still our
            // member's.
            if (!process || !stat || stat->ppid != parent || members_[at].process.ended() || process->ended())
                continue;
            known.insert(child);
            members_.push_back({.process = std::move(*process)});
        }
    }
    return members_.size() - before;
}

void TreeEnder::ask_new() {
    for (Member& member : members_) {
        if (member.asked)
            continue; // TERM once: a second one makes some programs give up their clean-up
        member.asked = true;
        member.refused = !member.process.signal(SIGTERM);
        (void)member.process.signal(SIGCONT); // a stopped process cannot end by itself
    }
}

void TreeEnder::ask() {
    grace_ = sys::Deadline::in(how_.now ? Millis{0} : how_.grace);
    if (how_.now)
        return;
    grow();
    ask_new();
    if (grow() != 0) // what was forked while we walked
        ask_new();
}

bool TreeEnder::anybody_to_wait_for() {
    return std::any_of(members_.begin(), members_.end(),
                       [](const Member& member) { return !member.refused && !member.process.ended(); });
}

void TreeEnder::wait_until(const sys::Deadline& deadline) {
    for (const Member& member : members_)
        if (!member.refused && !member.process.wait_ended(deadline))
            return; // the deadline has passed
}

// Stops all of them, so that none can fork while the walk goes on: what it has found in the end is
// everything.
void TreeEnder::freeze() {
    for (int waited = 0;; ++waited) {
        do {
            for (Member& member : members_) {
                if (!member.frozen)
                    (void)member.process.signal(SIGSTOP);
                member.frozen = true;
            }
        } while (grow() != 0);
        bool still = std::all_of(members_.begin(), members_.end(), [](const Member& member) {
            return member.refused || member.process.ended() || stands_still(member.process.pid());
        });
        // All stood still when they were looked at, so a walk after that sees every child that there will
        // ever be.
        if (still && grow() == 0)
            return;
        if (waited >= longest_freeze_ms)
            return;
        ::poll(nullptr, 0, 1);
    }
}

std::vector<Leftover> TreeEnder::finish() {
    wait_until(grace_);
    if (anybody_to_wait_for()) {
        freeze();
        for (Member& member : members_)
            member.refused = !member.process.signal(SIGKILL);
        wait_until(sys::Deadline::in(how_.patience));
    }
    std::vector<Leftover> out;
    for (const Member& member : members_)
        if (!member.process.ended())
            out.push_back(
                {.pid = member.process.pid(), .command = sys::command_line_for_people(member.process.pid())});
    return out;
}

} // namespace holdfast::registry
