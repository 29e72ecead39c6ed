// The library beside the same work by hand: open, lock, write, close; and a bare lock waiter.
#include "harness/temp_dir.hpp"
#include "slot/measures.hpp"
#include "stage/counts.hpp"
#include "stage/stage.hpp"

#include <cstdlib>
#include <map>
#include <memory>

namespace holdfast::bench {

namespace {

// A slot-rounds that answers.
class Rounds {
public:
    Rounds(const Programs& programs, const std::string& directory) {
        harness::SpawnSpec spec;
        spec.argv = {programs.path("slot-rounds"), directory};
        spec.in = harness::Stdio::pipe;
        auto child = harness::Child::spawn(spec);
        if (!child)
            give_up(child.error().message);
        child_ = std::move(*child);
    }
    double ask(const std::string& word) {
        if (!child_.write_in(word + "\n"))
            give_up("slot-rounds has ended");
        const auto line = child_.out().read_line(harness::Deadline::in(patience));
        if (!line)
            give_up("slot-rounds did not answer \"" + word + "\"");
        return std::strtod(line->c_str(), nullptr);
    }

private:
    harness::Child child_;
};

// One for each build, each with a directory of its own; the bare ones run in that of our own build.
class Workers {
public:
    double ask(const Programs& programs, const std::string& word) {
        auto& worker = workers_[programs.directory];
        if (!worker)
            worker = std::make_unique<Worker>(programs);
        return worker->rounds.ask(word);
    }

private:
    struct Worker {
        explicit Worker(const Programs& programs)
            : rounds(programs, directory.path().string()) {}
        harness::TempDir directory;
        Rounds rounds;
    };
    std::map<std::string, std::unique_ptr<Worker>> workers_;
};

harness::SpawnSpec spec_of(const Programs& programs, const std::string& directory) {
    harness::SpawnSpec spec;
    spec.argv = {programs.path("slot-rounds"), directory};
    return spec;
}

// Of one round: the difference between many and few, divided.
constexpr int few = 10, many = 60;

double calls_of_a_round(const Programs& programs, const std::string& word) {
    const harness::TempDir directory;
    const auto calls = [&](int rounds) {
        return count(spec_of(programs, directory.path().string()), {},
                     word + " " + std::to_string(rounds) + "\n")
            .calls;
    };
    return (calls(many) - calls(few)) / (many - few);
}

Result<double> instructions_of_a_round(const Programs& programs, const std::string& word) {
    const harness::TempDir directory;
    const auto counted = [&](int rounds) {
        return instructions(spec_of(programs, directory.path().string()),
                            word + " " + std::to_string(rounds) + "\n");
    };
    const auto less = counted(few), more = counted(many);
    if (!less || !more)
        return !less ? less : more;
    return (*more - *less) / (many - few);
}

} // namespace

void measure_acquire(const Run& run, int rounds) {
    Workers workers;
    constexpr int batch = 20;
    const std::string ours = "acquire " + std::to_string(batch),
                      bare = "bare-acquire " + std::to_string(batch);
    pair_row(
        run,
        {.what = "acquire and release", .beside = "open, lock, write, close", .unit = "µs", .at_most = 6},
        rounds / batch, [&](const Programs& programs) { return workers.ask(programs, ours); },
        [&] { return workers.ask(run.ours, bare); });
    count_row(
        run, "... system calls",
        [](const Programs& programs) { return calls_of_a_round(programs, "acquire"); },
        [&] { return std::optional(calls_of_a_round(run.ours, "bare-acquire")); });
    instructions_row(
        run, "... instructions",
        [](const Programs& programs) { return instructions_of_a_round(programs, "acquire"); },
        [&] { return instructions_of_a_round(run.ours, "bare-acquire"); });
}

void measure_handover(const Run& run, int rounds) {
    Workers workers;
    pair_row(
        run,
        {.what = "predecessor's exit to successor's ownership",
         .beside = "a bare lock waiter",
         .unit = "µs",
         .at_most = 1.5,
         .p99_at_most = 2,
         .with_p99 = true},
        rounds, [&](const Programs& programs) { return workers.ask(programs, "handover"); },
        [&] { return workers.ask(run.ours, "bare-handover"); });
}

} // namespace holdfast::bench
