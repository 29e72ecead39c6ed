#include "stage/start.hpp"

#include "stage/counts.hpp"
#include "stage/stage.hpp"

#include <algorithm>
#include <filesystem>

namespace holdfast::bench {

namespace {

// A program that ends at once, from its start to its end.
double bare_run(const harness::HoldfastHome& home, Words argv) {
    auto spec = home.command({});
    spec.argv = std::move(argv);
    spec.err = harness::Stdio::null;
    const double begin = now_ms();
    auto child = harness::Child::spawn(spec);
    if (!child || !child->wait(harness::Deadline::in(patience)))
        give_up("a program could not be run");
    return now_ms() - begin;
}

// The programs that are executed before the command. What comes after it cannot delay its first word.
Words executed_before(const std::string& command, const Words& executed) {
    const auto at = std::find(executed.begin(), executed.end(), command);
    if (at == executed.end())
        give_up("the command was not executed");
    return {executed.begin(), at};
}

std::string named(const Words& programs) {
    std::string out;
    for (const std::string& program : programs)
        out += std::filesystem::path(program).filename().string() + ", ";
    return out;
}

} // namespace

void measure_start_of(const Run& run, const std::string& what, const Words& words, int rounds,
                      double at_most) {
    const harness::HoldfastHome home;
    const auto guarded = [&](const Programs& programs) {
        Words all{programs.path("holdfast")};
        all.insert(all.end(), words.begin(), words.end());
        return all;
    };
    const auto started = [&](const Programs& programs) { return until_first_word(home, guarded(programs)); };
    const auto counted = [&](const Words& before) {
        auto spec = home.command({});
        spec.argv = before;
        for (const std::string& word : home.animal("echo_server"))
            spec.argv.push_back(word);
        return count(spec, "ready");
    };
    (void)started(run.ours); // the directories are there now
    const Counts mine = counted(guarded(run.ours));
    const Counts base = counted(run.other ? guarded(*run.other) : Words{});
    if (run.other) {
        pair_row(run, {.what = what, .unit = "ms"}, rounds, started, [] { return 0.0; });
    } else {
        const Words before = executed_before(home.animal("echo_server").front(), mine.executed);
        std::vector<double> ours, bare, alone;
        for (int i = 0; i < rounds; ++i) {
            if (i % 2 == 0)
                ours.push_back(started(run.ours));
            double programs = 0;
            for (const std::string& program : before)
                programs += bare_run(home, {program, "--version"});
            alone.push_back(until_first_word(home, {}));
            bare.push_back(programs + alone.back());
            if (i % 2 != 0)
                ours.push_back(started(run.ours));
        }
        pair_row_of({.what = what,
                     .beside = "bare starts of the " + std::to_string(before.size() + 1) +
                               " programs that it executes (" + named(before) +
                               "the command), one after the other",
                     .unit = "ms",
                     .at_most = at_most},
                    ours, bare);
        pair_row_of({.what = "the same", .beside = "the command alone", .unit = "ms"}, ours, alone);
    }
    const auto of = [&](const Programs& programs) -> const Counts& {
        return programs.directory == run.ours.directory ? mine : base;
    };
    const auto row = [&](const std::string& name, double Counts::* member) {
        count_row(
            run, "... " + name, [&](const Programs& programs) { return of(programs).*member; },
            [&] { return std::optional(base.*member); });
    };
    count_row(
        run, "... programs executed, to the end of the run; beside the command alone",
        [&](const Programs& programs) { return static_cast<double>(of(programs).executed.size()); },
        [&] { return std::optional(static_cast<double>(base.executed.size())); });
    row("processes made", &Counts::forks);
    row("system calls", &Counts::calls);
    row("waits (voluntary context switches)", &Counts::waits);
    row("page faults", &Counts::faults);
    const auto with_true = [&](Words before) {
        auto spec = home.command({});
        spec.argv = std::move(before);
        spec.argv.emplace_back("/bin/true");
        return instructions(spec);
    };
    instructions_row(
        run, "... instructions, with /bin/true as the command",
        [&](const Programs& programs) { return with_true(guarded(programs)); },
        [&] { return with_true({}); });
}

} // namespace holdfast::bench
