// Looking at the machine as it is, and ending what was proven to be left over. Nothing here needs to have
// been started by holdfast.
#pragma once

#include "base/duration.hpp"
#include "core/diagnosis.hpp"
#include "core/stop_plan.hpp"
#include "holdfast/result.hpp"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::doctor {

struct ExamineOptions {
    // Only processes below this one (which has to be alive). An orphan is below whoever adopted it: PID 1,
    // the user's service manager, or another subreaper.
    std::optional<pid_t> under;
    // How long to watch whether something is idle, or a zombie is collected.
    base::Millis window{500};
    // An init may collect zombies on a timer.
    base::Millis zombie_patience{3000};
    // Younger ones are not called dropped or duplicate.
    base::Millis settled_age{5000};
    // See core::DiagnosisSettings; for the negative control of the tests.
    bool without_channel_check = false;
};

struct Report {
    ExamineOptions options;
    std::vector<core::Finding> findings;
    std::size_t processes = 0; // looked at
    std::size_t unreadable =
        0; // of them, those whose descriptors are not ours to see (kernel threads not counted)
};

// Takes about `window` when something has to be watched. Changes nothing. Error not_found when `under` is not
// alive.
Result<Report> examine(const ExamineOptions& options);

struct ReapOptions {
    bool yes = false;                         // otherwise a dry run: says what would be ended
    base::Millis grace = core::default_grace; // between TERM and KILL
    // Called between the holding of the proven ones and the second proof; for tests that let the world change
    // there.
    std::function<void()> before_second_look;
};

enum class Outcome {
    would_end,     // dry run
    ended,         // on TERM
    killed,        // on KILL
    already_gone,  // ended by itself before anything was sent
    spared,        // the proof did not hold at the second look; nothing was sent
    not_permitted, // the kernel refused the signal
    survived,      // still there after KILL
};
std::string_view name_of(Outcome outcome);

struct Reaped {
    pid_t pid = 0;
    pid_t root = 0; // the process the finding is about
    std::string command;
    Outcome outcome = Outcome::would_end;
    std::uint64_t memory = 0;
};

struct ReapReport {
    bool dry_run = true;
    std::vector<Reaped> processes;
    std::size_t suspected_left_alone = 0; // findings

    [[nodiscard]] std::size_t count(Outcome outcome) const;
    // Everything that was proven is gone (or it was a dry run).
    [[nodiscard]] bool complete() const;
};

// Ends what `report` proved. Each process is held by a pidfd first; then the whole proof is made again from a
// fresh look and has to be about the same process; then TERM and CONT to the whole tree, `grace`, and KILL to
// the whole tree.
Result<ReapReport> reap(const Report& report, const ReapOptions& options);

std::string to_json(const Report& report);
std::string to_json(const ReapReport& report);
std::string to_text(const Report& report);
std::string to_text(const ReapReport& report);

} // namespace holdfast::doctor
