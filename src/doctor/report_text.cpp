#include "base/text.hpp"
#include "doctor/doctor.hpp"

#include <algorithm>
#include <array>

namespace holdfast::doctor {

namespace {

using base::cat;
using core::Finding;

// Rows with columns as wide as their widest cell. The last column is free.
template <std::size_t N>
class Table {
public:
    using Row = std::array<std::string, N>;
    explicit Table(std::array<bool, N> to_the_right)
        : right_(to_the_right) {}

    void add(Row row) {
        for (std::size_t i = 0; i < N; ++i)
            width_[i] = std::max(width_[i], row[i].size());
        rows_.push_back(std::move(row));
    }
    [[nodiscard]] std::string line(std::size_t at) const {
        std::string out;
        for (std::size_t i = 0; i < N; ++i) {
            const std::string& cell = rows_[at][i];
            std::string blanks(width_[i] - cell.size(), ' ');
            if (i + 1 == N)
                out += cell;
            else
                out += right_[i] ? cat(blanks, cell, "  ") : cat(cell, blanks, "  ");
        }
        return out + '\n';
    }

private:
    std::array<bool, N> right_;
    std::array<std::size_t, N> width_{};
    std::vector<Row> rows_;
};

std::string age(std::uint64_t ms) {
    return base::format_duration(base::Millis(ms));
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
    return cat(count, ' ', count == 1 ? one : many);
}

std::string processes(std::size_t count) {
    return counted(count, "process", "processes");
}

struct Sum {
    std::size_t findings = 0, processes = 0;
    std::uint64_t memory = 0;
    void add(const Finding& finding) {
        ++findings;
        processes += finding.pids.size();
        memory += finding.memory;
    }
};

std::string words_for(Outcome outcome) {
    switch (outcome) {
    case Outcome::would_end:
        return "would end";
    case Outcome::ended:
        return "ended on TERM";
    case Outcome::killed:
        return "killed";
    case Outcome::already_gone:
        return "was gone already";
    case Outcome::spared:
        return "spared: changed since";
    case Outcome::not_permitted:
        return "NOT PERMITTED";
    case Outcome::survived:
        return "SURVIVED";
    }
    return {};
}

} // namespace

std::string to_text(const Report& report) {
    std::string looked = cat("Looked at ", processes(report.processes));
    if (report.options.under)
        looked += cat(" under process ", *report.options.under);
    if (report.unreadable > 0)
        looked += cat("; the descriptors of ", report.unreadable,
                      " are not yours to see, so nothing is said about their insides");
    looked += ".\n";
    if (report.findings.empty())
        return cat("Nothing found. ", looked);

    Table<7> table({false, false, true, true, true, true, false});
    table.add({"FINDING", "SURE", "PID", "AGE", "MEMORY", "PROCS", "COMMAND"});
    Sum reapable, zombies, suspected;
    for (const Finding& finding : report.findings) {
        table.add({std::string(core::words_for(finding.kind)), finding.proven ? "proven" : "suspected",
                   cat(finding.identity.pid), age(finding.age_ms), base::format_size(finding.memory),
                   cat(finding.pids.size()), finding.command});
        (finding.reapable() ? reapable : finding.proven ? zombies : suspected).add(finding);
    }
    std::string out = table.line(0);
    for (std::size_t i = 0; i < report.findings.size(); ++i) {
        const Finding& finding = report.findings[i];
        out += table.line(i + 1);
        out += cat("    rule: ", finding.rule, '\n');
        for (const std::string& sentence : finding.evidence)
            out += cat("    seen: ", sentence, '\n');
        for (const std::string& sentence : finding.doubts)
            out += cat("    but:  ", sentence, '\n');
    }
    out += cat("\nProven left over: ", processes(reapable.processes), " in ",
               counted(reapable.findings, "tree", "trees"), ", ", base::format_size(reapable.memory),
               ". Suspected: ", counted(suspected.findings, "finding", "findings"), ", ",
               processes(suspected.processes), ", ", base::format_size(suspected.memory),
               ". Zombies: ", zombies.processes, ".\n", looked);
    if (reapable.findings > 0)
        out +=
            "Next: `holdfast reap` shows what it would end, `holdfast reap --yes` ends what is proven. Put "
            "`holdfast run --` in front of the command, and it will not be left behind again.\n";
    else if (suspected.findings > 0)
        out += "Next: nothing is proven, so `holdfast reap` would end nothing. Read the doubts and decide "
               "yourself.\n";
    else
        out += "Next: a zombie holds only its number; it goes when its parent collects it or ends.\n";
    return out;
}

std::string to_text(const ReapReport& report) {
    std::string left =
        report.suspected_left_alone == 0
            ? std::string()
            : cat(" ",
                  counted(report.suspected_left_alone, "suspected finding was", "suspected findings were"),
                  " left alone; see `holdfast doctor`.");
    if (report.processes.empty())
        return cat("Nothing is proven to be left over, so nothing was ended.", left, "\n");
    Table<4> table({false, true, true, false});
    table.add({"OUTCOME", "PID", "MEMORY", "COMMAND"});
    std::uint64_t memory = 0;
    for (const Reaped& one : report.processes) {
        table.add({words_for(one.outcome), cat(one.pid),
                   one.memory ? base::format_size(one.memory) : std::string("-"), one.command});
        if (one.outcome == Outcome::ended || one.outcome == Outcome::killed ||
            one.outcome == Outcome::would_end)
            memory += one.memory;
    }
    std::string out;
    for (std::size_t i = 0; i <= report.processes.size(); ++i)
        out += table.line(i);
    if (report.dry_run)
        return cat(out, "\nThis was a dry run: ", processes(report.processes.size()), " and ",
                   base::format_size(memory), " would go. Add --yes to end them.", left, "\n");
    std::size_t gone = report.count(Outcome::ended) + report.count(Outcome::killed);
    out += cat("\nEnded ", processes(gone), ", ", base::format_size(memory), ".");
    if (std::size_t spared = report.count(Outcome::spared))
        out += cat(" Spared ", spared, ": the proof did not hold at the second look.");
    if (!report.complete())
        out += cat(" STILL THERE: ",
                   processes(report.count(Outcome::survived) + report.count(Outcome::not_permitted)),
                   ", named above.");
    return cat(out, left, "\n");
}

} // namespace holdfast::doctor
