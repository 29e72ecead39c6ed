// What a guard costs: time to start, memory while it waits, time to list many.
#include "keep/measures.hpp"
#include "stage/stage.hpp"

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

void measure_start(int rounds) {
    const harness::HoldfastHome home;
    std::vector<double> ours, direct;
    (void)until_first_word(home,
                           {harness::program("holdfast"), "run", "--"}); // the directories are there now
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(until_first_word(home, {harness::program("holdfast"), "run", "--"}));
        direct.push_back(until_first_word(home, {}));
    }
    row("start to the helper's first word, p50; beside direct", quantile(ours, 0.5), quantile(direct, 0.5),
        "ms", "at most 3 ms more");
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
    row("private memory of the front", private_kb(front->pid()) / 1024, -1, "MB", "at most 1 MB");
    row("private memory of the keeper", private_kb(keeper) / 1024, -1, "MB", "at most 1 MB");
}

void measure_listing(int entries) {
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
    std::vector<double> text, json;
    for (int i = 0; i < 7; ++i) {
        for (auto [words, figures] :
             {std::pair(Words{"ps"}, &text), std::pair(Words{"ps", "--json"}, &json)}) {
            const double begin = now_ms();
            const auto listed = home.run(words);
            if (!listed || !listed->status.exited_with(0))
                give_up("ps failed");
            figures->push_back(now_ms() - begin);
        }
    }
    const std::string target = entries == 1000 ? "under 50 ms" : "(1,000: under 50 ms)";
    row("`ps` of " + std::to_string(entries) + " entries, p50", quantile(text, 0.5), -1, "ms", target);
    row("`ps --json` of " + std::to_string(entries) + " entries, p50", quantile(json, 0.5), -1, "ms", target);
    const double begin = now_ms();
    const auto stopped = home.run({"stop", "--all"}, harness::Deadline::in(std::chrono::seconds(300)));
    if (!stopped || !stopped->status.exited_with(0))
        give_up("stop --all failed");
    row("`stop --all` of " + std::to_string(entries) + " helpers", now_ms() - begin, -1, "ms", "");
}

} // namespace holdfast::bench
