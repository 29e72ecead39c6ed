#include "base/printable.hpp"
#include "base/text.hpp"
#include "doctor/doctor.hpp"
#include "doctor/victims.hpp"
#include "sys/proc.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>

namespace holdfast::doctor {

namespace {

using core::Finding;

// A kernel that is short of memory takes its time over the last bytes of a large process.
constexpr base::Millis patience_after_kill{10'000};
// A tree that forks while it is being stopped is caught up with in a few rounds; this only bounds the walk.
constexpr int most_rounds = 50;

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

// Stops the trees before it kills them: what is stopped cannot fork, and its children stay its children, so
// that one walk after the other finds them all until there is nothing new.
void kill_whole_trees(std::vector<Victim>& victims) {
    for (int round = 0; round < most_rounds; ++round) {
        signal_all(victims, SIGSTOP);
        if (add_descendants(victims) == 0)
            break;
    }
    signal_all(victims, SIGKILL);
    (void)all_ended(victims, sys::Deadline::in(patience_after_kill));
}

std::vector<Reaped> end_trees(std::vector<Victim> victims, base::Millis grace) {
    std::vector<std::string> channels;
    for (const Victim& root : victims)
        std::ranges::move(stdio_names(root.process.pid()), std::back_inserter(channels));
    add_descendants(victims);
    std::uint64_t began = ticks_now();
    signal_all(victims, SIGTERM);
    signal_all(victims, SIGCONT); // a stopped process cannot end by itself
    bool quiet = all_ended(victims, sys::Deadline::in(grace));
    std::vector<bool> on_term;
    for (const Victim& victim : victims)
        on_term.push_back(victim.process.ended());
    if (!quiet)
        kill_whole_trees(victims);
    for (int round = 0; round < most_rounds && add_heirs(victims, channels, began) > 0; ++round)
        kill_whole_trees(victims);

    std::vector<Reaped> out;
    for (std::size_t at = 0; at < victims.size(); ++at) {
        const Victim& victim = victims[at];
        Outcome outcome = at < on_term.size() && on_term[at] ? Outcome::ended
                          : victim.process.ended()           ? Outcome::killed
                          : victim.refused                   ? Outcome::not_permitted
                                                             : Outcome::survived;
        out.push_back({victim.process.pid(), victim.root, victim.command, outcome, victim.memory});
    }
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
            held.push_back({std::move(*process), finding.identity.pid, finding.command, 0});
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
            out.processes.push_back({one.process.pid(), one.root, one.command,
                                     gone ? Outcome::already_gone : Outcome::spared, 0});
            continue;
        }
        one.memory = resident_bytes(one.process.pid());
        victims.push_back(std::move(one));
    }
    std::ranges::move(end_trees(std::move(victims), options.grace), std::back_inserter(out.processes));
    return out;
}

} // namespace holdfast::doctor
