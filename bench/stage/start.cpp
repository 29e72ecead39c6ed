#include "stage/start.hpp"

#include "stage/counts.hpp"
#include "stage/stage.hpp"

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
    if (run.other) {
        pair_row(run, {.what = what, .unit = "ms"}, rounds, started, [] { return 0.0; });
    } else {
        std::vector<double> ours, three, two, one;
        (void)started(run.ours); // the directories are there now
        for (int i = 0; i < rounds; ++i) {
            const auto mine = [&] { ours.push_back(started(run.ours)); };
            if (i % 2 == 0)
                mine();
            const double front = bare_run(home, {run.ours.path("holdfast"), "--version"});
            const double keeper = bare_run(home, {run.ours.path("holdfast-keep")});
            const double command = until_first_word(home, {});
            if (i % 2 != 0)
                mine();
            three.push_back(front + keeper + command);
            two.push_back(front + command);
            one.push_back(command);
        }
        pair_row_of({.what = what,
                     .beside = "bare starts of front, keeper and command, one after the other",
                     .unit = "ms",
                     .at_most = at_most},
                    ours, three);
        pair_row_of({.what = "the same", .beside = "bare starts of front and command", .unit = "ms"}, ours,
                    two);
        pair_row_of({.what = "the same", .beside = "the command alone", .unit = "ms"}, ours, one);
    }
    const Counts mine = counted(guarded(run.ours));
    const Counts base = counted(run.other ? guarded(*run.other) : Words{});
    const auto row = [&](const std::string& name, double Counts::* member) {
        count_row(
            run, "... " + name,
            [&](const Programs& programs) {
                return (programs.directory == run.ours.directory ? mine : base).*member;
            },
            [&] { return std::optional(base.*member); });
    };
    row("programs executed, to the end of the run; beside the command alone", &Counts::execs);
    row("processes made", &Counts::forks);
    row("system calls", &Counts::calls);
    row("waits (voluntary context switches)", &Counts::waits);
    row("page faults", &Counts::faults);
}

} // namespace holdfast::bench
