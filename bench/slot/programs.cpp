// The command line: status, start-up under a slot, the process that waits.
#include "slot/measures.hpp"
#include "stage/counts.hpp"
#include "stage/stage.hpp"
#include "stage/start.hpp"

#include <regex>
#include <thread>

namespace holdfast::bench {

namespace {

// From the start of a program to its end.
double run_time(const harness::HoldfastHome& home, const Words& argv) {
    auto spec = home.command({});
    spec.argv = argv;
    const double begin = now_ms();
    auto child = harness::Child::spawn(spec);
    if (!child || !child->wait(harness::Deadline::in(patience)))
        give_up("could not run " + argv.front());
    return now_ms() - begin;
}

double resident_kb(pid_t pid) {
    const std::string text = harness::read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
    std::smatch match;
    if (!std::regex_search(text, match, std::regex("VmRSS:\\s+([0-9]+)")))
        give_up("no memory figure of process " + std::to_string(pid));
    return std::stod(match[1]);
}

harness::Child start_held(const harness::HoldfastHome& home) {
    Words words{"run", "--slot", "bench", "--stop", "now", "--"};
    for (const std::string& word : home.animal("echo_server"))
        words.push_back(word);
    auto spec = home.command(words);
    spec.in = harness::Stdio::pipe;
    auto owner = harness::Child::spawn(spec);
    if (!owner || !owner->out().read_until("ready", harness::Deadline::in(patience)))
        give_up("the owner did not start");
    return std::move(*owner);
}

} // namespace

void measure_status(const Run& run, int rounds) {
    const harness::HoldfastHome home;
    auto owner = start_held(home);
    pair_row(
        run, {.what = "`holdfast status`, end to end", .beside = "`python3 -c pass`", .unit = "ms"}, rounds,
        [&](const Programs& programs) {
            return run_time(home, {programs.path("holdfast"), "status", "bench"});
        },
        [&] { return run_time(home, {"/usr/bin/python3", "-c", "pass"}); });
    const auto counted = [&](const Words& argv) {
        auto spec = home.command({});
        spec.argv = argv;
        return instructions(spec);
    };
    instructions_row(
        run, std::string("... instructions") + (run.other ? "" : "; beside `/bin/true`"),
        [&](const Programs& programs) { return counted({programs.path("holdfast"), "status", "bench"}); },
        [&] { return counted({"/bin/true"}); });
}

void measure_slot_start(const Run& run, int rounds) {
    measure_start_of(run, "`run --slot` to the command's first word", {"run", "--slot", "bench", "--"},
                     rounds, 1.3);
}

void measure_waiter_memory() {
    const harness::HoldfastHome home;
    auto owner = start_held(home);
    auto spec = home.command({"run", "--slot", "bench", "--if-held", "wait", "--", "/bin/true"});
    auto waiter = harness::Child::spawn(spec);
    if (!waiter)
        give_up(waiter.error().message);
    double last = -1, now = 0;
    for (int looks = 0; looks < 50 && (now = resident_kb(waiter->pid())) != last; ++looks) {
        last = now;
        std::this_thread::sleep_for(200ms);
    }
    value_row("resident memory of a process that waits for a slot", now / 1024, "MB", 1.5);
}

} // namespace holdfast::bench
