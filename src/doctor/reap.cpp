#include "base/printable.hpp"
#include "base/text.hpp"
#include "doctor/doctor.hpp"
#include "ending/by_channels.hpp"
#include "ending/ender.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace holdfast::doctor {

namespace {

using core::Finding;

// A process whose finding is proven, held by a pidfd.
struct Victim {
    sys::PidFd process;
    std::string command;
};

std::uint64_t resident_bytes(pid_t pid) {
    auto stat = sys::read_stat(pid);
    return stat ? stat->rss_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::vector<Reaped> what_would_happen(const Report& report) {
    std::vector<Reaped> out;
    for (const Finding& finding : report.findings) {
        if (!finding.reapable())
            continue;
        for (int pid : finding.pids)
            out.push_back({.pid = pid,
                           .root = finding.identity.pid,
                           .command = pid == finding.identity.pid
                                          ? finding.command
                                          : base::printable(sys::command_line_for_people(pid)),
                           .outcome = Outcome::would_end,
                           .memory = resident_bytes(pid)});
    }
    return out;
}

Outcome outcome_of(ending::Fate fate) {
    switch (fate) {
    case ending::Fate::ended:
        return Outcome::ended;
    case ending::Fate::killed:
        return Outcome::killed;
    case ending::Fate::refused:
        return Outcome::not_permitted;
    case ending::Fate::alive:
    case ending::Fate::survived:
        break;
    }
    return Outcome::survived;
}

// With the roots go all that is below them, and what they start while they end and leave to another parent.
std::vector<Reaped> end_trees(std::vector<Victim> roots, base::Millis grace) {
    std::vector<std::string> channels;
    std::map<pid_t, std::string> commands;
    for (Victim& root : roots) {
        std::ranges::move(ending::stdio_channels(root.process.pid()), std::back_inserter(channels));
        commands[root.process.pid()] = std::move(root.command);
    }
    ending::ChannelHeirs heirs(std::move(channels));
    ending::Ender ender(ending::unmarked_trees(grace, ending::default_patience));
    ender.find_by(heirs);
    std::vector<Reaped> out;
    ender.on_met([&](const ending::Member& member) {
        const auto root = commands.find(member.pid);
        out.push_back({.pid = member.pid,
                       .root = static_cast<pid_t>(member.of),
                       .command = root != commands.end()
                                      ? root->second
                                      : base::printable(sys::command_line_for_people(member.pid)),
                       .outcome = Outcome::survived,
                       .memory = resident_bytes(member.pid)});
    });
    for (Victim& root : roots) {
        const auto pid = static_cast<std::size_t>(root.process.pid());
        ender.add(std::move(root.process), pid);
    }
    const ending::Report report = ender.finish();
    for (std::size_t at = 0; at < out.size(); ++at)
        out[at].outcome = outcome_of(report.members[at].fate);
    return out;
}

} // namespace

std::string_view name_of(Outcome outcome) {
    switch (outcome) {
    case Outcome::would_end:
        return "would_end";
    case Outcome::ended:
        return "ended";
    case Outcome::killed:
        return "killed";
    case Outcome::already_gone:
        return "already_gone";
    case Outcome::spared:
        return "spared";
    case Outcome::not_permitted:
        return "not_permitted";
    case Outcome::survived:
        return "survived";
    }
    return "unknown";
}

std::size_t ReapReport::count(Outcome outcome) const {
    return static_cast<std::size_t>(std::ranges::count(processes, outcome, &Reaped::outcome));
}

bool ReapReport::complete() const {
    return count(Outcome::survived) == 0 && count(Outcome::not_permitted) == 0;
}

Result<ReapReport> reap(const Report& report, const ReapOptions& options) {
    ReapReport out;
    out.dry_run = !options.yes;
    out.suspected_left_alone = static_cast<std::size_t>(
        std::ranges::count_if(report.findings, [](const Finding& f) { return !f.proven; }));
    if (out.dry_run) {
        out.processes = what_would_happen(report);
        return out;
    }

    // Held first: from here on a number cannot come to mean somebody else.
    std::vector<Victim> held;
    auto say = [&](const Finding& finding, Outcome outcome) {
        out.processes.push_back({finding.identity.pid, finding.identity.pid, finding.command, outcome, 0});
    };
    for (const Finding& finding : report.findings) {
        if (!finding.reapable())
            continue;
        auto process = sys::PidFd::open(finding.identity.pid);
        auto identity = process ? sys::identify(*process) : std::unexpected(process.error());
        if (identity && base::same_process(*identity, finding.identity))
            held.push_back({.process = std::move(*process), .command = finding.command});
        else
            say(finding, Outcome::already_gone);
    }
    if (held.empty())
        return out;
    if (options.before_second_look)
        options.before_second_look();

    // Then the whole proof once more, from a fresh look, about the processes that are held.
    auto again = examine(report.options);
    if (!again)
        return std::unexpected(again.error());
    std::vector<Victim> victims;
    for (Victim& one : held) {
        const Finding* finding = nullptr;
        for (const Finding& candidate : again->findings)
            if (candidate.reapable() && candidate.identity.pid == one.process.pid())
                finding = &candidate;
        bool gone = one.process.ended();
        if (gone || !finding) {
            // It was still ours when the fresh look began and may have ended within it: not spared, gone.
            out.processes.push_back({one.process.pid(), one.process.pid(), one.command,
                                     gone ? Outcome::already_gone : Outcome::spared, 0});
            continue;
        }
        victims.push_back(std::move(one));
    }
    std::ranges::move(end_trees(std::move(victims), options.grace), std::back_inserter(out.processes));
    return out;
}

} // namespace holdfast::doctor
