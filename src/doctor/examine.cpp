#include "base/text.hpp"
#include "doctor/doctor.hpp"
#include "doctor/snapshot.hpp"
#include "sys/proc.hpp"

#include <algorithm>

namespace holdfast::doctor {

namespace {
constexpr std::size_t longest_title = 200; // as join_command cuts
} // namespace

Result<Report> examine(const ExamineOptions& options) {
    auto snapshot = take_snapshot();
    if (!snapshot)
        return std::unexpected(snapshot.error());
    core::Lineage lineage(*snapshot);
    if (options.under && !lineage.find(*options.under))
        return fail(Errc::not_found, base::cat("there is no process ", *options.under, " to look under"));

    core::DiagnosisSettings settings;
    settings.settled_age_ms = static_cast<std::uint64_t>(options.settled_age.count());
    settings.without_channel_check = options.without_channel_check;
    settings.describe = [](const base::ProcessFacts& process) {
        if (process.argv.empty())
            return base::cat('[', process.comm, ']');
        // One word with blanks is a title: quotes would make a path of it.
        return process.argv.size() == 1 ? process.argv.front().substr(0, longest_title)
                                        : sys::join_command(process.argv);
    };
    std::unordered_set<int> scope;
    if (options.under) {
        for (int pid : lineage.tree(*options.under))
            scope.insert(pid);
        settings.in_scope = [&scope](int pid) { return scope.contains(pid); };
    }

    auto watched = core::worth_watching(*snapshot);
    if (options.without_channel_check)
        for (const base::ProcessFacts& process : snapshot->processes)
            watched.insert(process.pid());
    if (options.under)
        std::erase_if(watched, [&](int pid) { return !scope.contains(pid); });
    measure_activity(*snapshot, watched, options.window, options.zombie_patience);

    Report out;
    out.options = options;
    out.findings = core::diagnose(*snapshot, settings);
    out.processes =
        static_cast<std::size_t>(std::ranges::count_if(snapshot->processes, [&](const auto& process) {
            return !options.under || scope.contains(process.pid());
        }));
    out.unreadable =
        static_cast<std::size_t>(std::ranges::count_if(snapshot->processes, [&](const auto& process) {
            return !process.descriptors_known && !process.kernel_thread && process.state != 'Z' &&
                   (!options.under || scope.contains(process.pid()));
        }));
    return out;
}

} // namespace holdfast::doctor
