// From the host's death, or from the word, to the end of the last process.
#include "keep/measures.hpp"
#include "stage/stage.hpp"

#include "harness/pidfd.hpp"

#include <csignal>
#include <thread>

namespace holdfast::bench {

namespace {

// keep_host → COMMAND; gives the pid of what the host started.
pid_t start_under_host(harness::Child& host, const harness::HoldfastHome& home, const Words& command) {
    Words words{"--"};
    words.insert(words.end(), command.begin(), command.end());
    auto spec = home.command_of("stage/keep_host", words);
    spec.in = harness::Stdio::pipe;
    auto child = harness::Child::spawn(spec);
    if (!child)
        give_up(child.error().message);
    host = std::move(*child);
    const auto line = host.out().read_line(harness::Deadline::in(patience));
    if (!line || !line->starts_with("child "))
        give_up("the host did not start");
    return static_cast<pid_t>(std::stol(line->substr(6)));
}

Words guarded(const Words& command) {
    Words out{harness::program("holdfast"), "run", "--stop", "now", "--"};
    out.insert(out.end(), command.begin(), command.end());
    return out;
}

pid_t keeper_below(pid_t front) {
    pid_t keeper = 0;
    if (!harness::eventually(harness::Deadline::in(patience), [&] {
            for (const auto& process : harness::descendants(front))
                if (process.ppid == front && process.cmdline.starts_with("holdfast-keep"))
                    keeper = process.pid;
            return keeper != 0;
        }))
        give_up("the front has no keeper");
    return keeper;
}

double host_death_to_empty(int processes) {
    const harness::HoldfastHome home;
    harness::Child host;
    const pid_t front = start_under_host(host, home, guarded(sleepers(processes)));
    auto tree = tree_below(keeper_below(front), processes - 1);
    const double begin = now_ms();
    (void)host.signal(SIGKILL);
    wait_all(tree);
    return now_ms() - begin;
}

// What is in the field: look every two seconds whether the host is there, then kill the group.
double host_death_to_empty_by_polling(int processes, double phase_ms) {
    const harness::HoldfastHome home;
    harness::Child host;
    const pid_t shell = start_under_host(host, home, sleepers(processes));
    auto opened = harness::open_pidfd(shell);
    auto tree = tree_below(shell, processes - 1);
    if (!opened)
        give_up("the shell is gone");
    tree.push_back(std::move(*opened));
    std::jthread watchdog([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(2s);
            if (!host.alive()) {
                for (const sys::Fd& one : tree)
                    (void)harness::pidfd_signal(one.get(), SIGKILL);
                return;
            }
        }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(static_cast<long>(phase_ms * 1000)));
    const double begin = now_ms();
    (void)host.signal(SIGKILL);
    wait_all(tree);
    return now_ms() - begin;
}

double asked_to_empty(int processes) {
    const harness::HoldfastHome home;
    harness::Child host;
    const pid_t front = start_under_host(host, home, guarded(sleepers(processes)));
    auto tree = tree_below(keeper_below(front), processes - 1);
    auto opened = harness::open_pidfd(front);
    if (!opened)
        give_up("the front is gone");
    const double begin = now_ms();
    (void)harness::pidfd_signal(opened->get(), SIGTERM);
    wait_all(tree);
    return now_ms() - begin;
}

double bare_loop(int processes) {
    const harness::HoldfastHome home;
    auto spec = home.command({});
    spec.argv = sleepers(processes);
    auto child = harness::Child::spawn(spec);
    if (!child)
        give_up(child.error().message);
    auto tree = tree_below(child->pid(), processes - 1);
    auto opened = harness::open_pidfd(child->pid());
    if (opened)
        tree.push_back(std::move(*opened));
    const double begin = now_ms();
    for (const sys::Fd& one : tree)
        (void)harness::pidfd_signal(one.get(), SIGKILL);
    wait_all(tree);
    return now_ms() - begin;
}

} // namespace

void measure_ending(int rounds) {
    std::vector<double> ours, floor, polling, asked, bare;
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(host_death_to_empty(10));
        floor.push_back(bare_loop(10));
        asked.push_back(asked_to_empty(100));
        bare.push_back(bare_loop(100));
    }
    for (int i = 0; i < 4; ++i) // the death falls anywhere between two looks
        polling.push_back(host_death_to_empty_by_polling(10, 300 + 450 * i));
    row("host SIGKILL to tree of ten empty, `--stop now`, p50; beside a watchdog that looks every 2 s",
        quantile(ours, 0.5), quantile(polling, 0.5), "ms", "under 1 ms");
    row("the same; beside a bare loop of kill, which nobody had to wake", quantile(ours, 0.5),
        quantile(floor, 0.5), "ms", "");
    row("the same, p99", quantile(ours, 0.99), quantile(polling, 0.99), "ms", "under 10 ms");
    row("100 processes ended, p50; beside a bare loop of kill", quantile(asked, 0.5), quantile(bare, 0.5),
        "ms", "at most 2x");
}

} // namespace holdfast::bench
