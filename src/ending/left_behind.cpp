#include "ending/left_behind.hpp"

#include "ending/by_cgroup.hpp"
#include "ending/by_identity.hpp"
#include "ending/by_mark.hpp"
#include "ending/ender.hpp"
#include "sys/cgroup.hpp"
#include "sys/proc.hpp"

#include <functional>
#include <utility>

namespace holdfast::ending {

LeftBehind::LeftBehind(std::string directory, std::vector<DeadEntry> dead)
    : directory_(std::move(directory))
    , dead_(std::move(dead)) {
    for (const DeadEntry& entry : dead_)
        spare_.push_back(SpareList::compile(entry.spare).value_or(SpareList{}));
}

// A daemon that the user named, or a child of one.
bool LeftBehind::is_spared(std::size_t entry, pid_t pid) const {
    const SpareList& spare = spare_[entry];
    if (spare.empty())
        return false;
    auto stat = sys::read_stat(pid);
    return spare.matches(sys::join_command(sys::read_cmdline(pid))) ||
           (stat && stat->ppid > 1 && spare.matches(sys::join_command(sys::read_cmdline(stat->ppid))));
}

void LeftBehind::clear_cgroups() {
    stuck_.clear();
    const std::string own = sys::Cgroup::own_place();
    // Ask the kernel, not the record: a keeper may have died before it could say that it made a cgroup.
    for (std::size_t i = 0; i < dead_.size(); ++i) {
        const DeadEntry& entry = dead_[i];
        std::function<bool(pid_t)> spared;
        if (!entry.spare.empty())
            spared = [this, i](pid_t pid) { return is_spared(i, pid); };
        auto cleared = clear_cgroup(entry.cgroup_place.empty() ? own : entry.cgroup_place, entry.id, spared);
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
    std::vector<base::Identity> helpers;
    for (const DeadEntry& entry : dead_)
        helpers.push_back(entry.helper);
    ByIdentity named(std::move(helpers));
    ByMark marked(directory_, dead_);
    // Not frozen: an orphan is found again by its mark or its life, and a process that forks and dies within
    // a millisecond is only reached by a signal that is sent at once. A process that is found after those
    // that were asked have ended was forked meanwhile, and is killed.
    Ender ender({.stages = ask_then_kill(core::default_grace, now)});
    ender.find_by(named);
    ender.find_by(marked);
    ender.spare([this](std::size_t entry, pid_t pid) { return is_spared(entry, pid); });
    report_ = ender.finish();
    for (const Member& member : report_.members)
        if (member.fate == Fate::ended || member.fate == Fate::killed)
            ended_[dead_[member.of].id].push_back(member.pid);
    clear_cgroups(); // again: a keeper that was ended just now may have made one after the first look
    for (std::size_t i = 0; i < dead_.size(); ++i)
        if (dead_[i].spare.empty() && marked.is_held(i))
            stuck_.insert(dead_[i].id);
    std::erase_if(report_.survivors, [](const Survivor& one) { return one.process.ended(); });
    for (const Survivor& one : report_.survivors)
        stuck_.insert(dead_[one.of].id);
}

std::vector<sys::PidFd> LeftBehind::take_survivors() {
    std::vector<sys::PidFd> out;
    for (Survivor& one : std::exchange(report_.survivors, {}))
        out.push_back(std::move(one.process));
    return out;
}

} // namespace holdfast::ending
