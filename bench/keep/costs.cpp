// What a guard costs: time to start, memory while it waits, time to list many.
#include "keep/measures.hpp"
#include "stage/counts.hpp"
#include "stage/stage.hpp"
#include "stage/start.hpp"

#include <regex>

namespace holdfast::bench {

namespace {

double private_kb(pid_t pid) {
    const std::string text =
        harness::read_file("/proc/" + std::to_string(pid) + "/smaps_rollup").value_or("");
    double sum = 0;
    const std::regex line("Private_(Clean|Dirty): +([0-9]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at)
        sum += std::stod((*at)[2]);
    if (sum == 0)
        give_up("no memory figures of process " + std::to_string(pid));
    return sum;
}

} // namespace

void measure_start(const Run& run, int rounds) {
    measure_start_of(run, "start to the helper's first word", {"run", "--"}, rounds, 1.2);
}

void measure_memory() {
    const harness::HoldfastHome home;
    Words words{"run", "--stop", "now", "--"};
    for (const std::string& word : home.animal("echo_server"))
        words.push_back(word);
    auto spec = home.command(words);
    spec.in = harness::Stdio::pipe;
    auto front = harness::Child::spawn(spec);
    if (!front || !front->out().read_until("ready", harness::Deadline::in(patience)))
        give_up("echo_server did not start");
    pid_t keeper = 0;
    for (const auto& process : harness::descendants(front->pid()))
        if (process.ppid == front->pid())
            keeper = process.pid;
    value_row("private memory of the front", private_kb(front->pid()) / 1024, "MB", 1);
    value_row("private memory of the keeper", private_kb(keeper) / 1024, "MB", 1);
}

void measure_listing(const Run& run, int entries) {
    const harness::HoldfastHome home;
    std::vector<harness::Child> fronts;
    for (int i = 0; i < entries; ++i) {
        Words words{"run", "--stop", "now", "--"};
        for (const std::string& word : home.animal("echo_server", {"--life=600"}))
            words.push_back(word);
        auto spec = home.command(words);
        spec.in = harness::Stdio::pipe;
        auto child = harness::Child::spawn(spec);
        if (!child)
            give_up(child.error().message);
        fronts.push_back(std::move(*child));
    }
    for (auto& front : fronts)
        if (!front.out().read_until("ready", harness::Deadline::in(std::chrono::seconds(300))))
            give_up("not all helpers came up");
    const std::string of = " of " + std::to_string(entries) + " entries";
    const auto listed = [&](const Programs& programs, const Words& words) {
        auto spec = home.command({});
        spec.argv = {programs.path("holdfast")};
        spec.argv.insert(spec.argv.end(), words.begin(), words.end());
        const double begin = now_ms();
        const auto done = harness::run_to_end(spec, harness::Deadline::in(patience));
        if (!done || !done->status.exited_with(0))
            give_up("ps failed");
        return now_ms() - begin;
    };
    const auto bare = [&] {
        auto spec = home.command_of("bare-list", {home.path() + "/run/default/helpers"});
        const double begin = now_ms();
        const auto done = harness::run_to_end(spec, harness::Deadline::in(patience));
        if (!done || done->out != std::to_string(entries) + "\n")
            give_up("bare-list did not find all entries");
        return now_ms() - begin;
    };
    const std::string beside = "a bare read of the same records, with their lock queries";
    for (const Words& words : {Words{"ps"}, Words{"ps", "--json"}}) {
        const std::string name = words.size() == 1 ? "`ps`" : "`ps --json`";
        pair_row(
            run, {.what = name + of, .beside = beside, .unit = "ms", .at_most = 2}, 15,
            [&](const Programs& programs) { return listed(programs, words); }, bare);
        const auto listing = [&](const Programs& programs) {
            auto spec = home.command(words);
            spec.argv.front() = programs.path("holdfast");
            return spec;
        };
        const auto bare_listing = home.command_of("bare-list", {home.path() + "/run/default/helpers"});
        count_row(
            run, "... system calls", [&](const Programs& programs) { return count(listing(programs)).calls; },
            [&] { return std::optional(count(bare_listing).calls); });
        instructions_row(
            run, "... instructions",
            [&](const Programs& programs) { return instructions(listing(programs)); },
            [&] { return instructions(bare_listing); });
    }
    const double begin = now_ms();
    const auto stopped = home.run({"stop", "--all"}, harness::Deadline::in(std::chrono::seconds(300)));
    if (!stopped || !stopped->status.exited_with(0))
        give_up("stop --all failed");
    value_row("`stop --all` of " + std::to_string(entries) + " helpers", now_ms() - begin, "ms", {});
}

} // namespace holdfast::bench
