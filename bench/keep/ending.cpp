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

Words guarded(const Programs& programs, const Words& command) {
    Words out{programs.path("holdfast"), "run", "--stop", "now", "--"};
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

double host_death_to_empty(const Programs& programs, int processes) {
    const harness::HoldfastHome home;
    harness::Child host;
    const pid_t front = start_under_host(host, home, guarded(programs, sleepers(processes)));
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

double asked_to_empty(const Programs& programs, int processes) {
    const harness::HoldfastHome home;
    harness::Child host;
    const pid_t front = start_under_host(host, home, guarded(programs, sleepers(processes)));
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

void measure_ending(const Run& run, int rounds) {
    pair_row(
        run,
        {.what = "host SIGKILL to tree of ten empty, `--stop now`",
         .beside = "a bare loop of kill, which nobody had to wake",
         .unit = "ms",
         .at_most = 1.15,
         .with_p99 = true},
        rounds, [](const Programs& programs) { return host_death_to_empty(programs, 10); },
        [] { return bare_loop(10); });
    pair_row(
        run, {.what = "100 processes ended", .beside = "a bare loop of kill", .unit = "ms", .at_most = 2},
        rounds, [](const Programs& programs) { return asked_to_empty(programs, 100); },
        [] { return bare_loop(100); });
    if (run.other)
        return;
    std::vector<double> ours, polling;
    for (int i = 0; i < 4; ++i) { // the death falls anywhere between two looks
        ours.push_back(host_death_to_empty(run.ours, 10));
        polling.push_back(host_death_to_empty_by_polling(10, 300 + 450 * i));
    }
    pair_row_of({.what = "host SIGKILL to tree of ten empty",
                 .beside = "a watchdog that looks every 2 s",
                 .unit = "ms"},
                ours, polling);
}

} // namespace holdfast::bench
