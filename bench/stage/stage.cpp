#include "stage/stage.hpp"

#include "harness/pidfd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace holdfast::bench {

double now_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double quantile(std::vector<double> figures, double q) {
    if (figures.empty())
        give_up("nothing was measured");
    std::sort(figures.begin(), figures.end());
    return figures[static_cast<std::size_t>(q * static_cast<double>(figures.size() - 1) + 0.5)];
}

void row(const std::string& what, double ours, double baseline, const std::string& unit,
         const std::string& target) {
    if (baseline < 0)
        std::printf("| %s | %.2f %s | | | %s | |\n", what.c_str(), ours, unit.c_str(), target.c_str());
    else
        std::printf("| %s | %.2f %s | %.2f %s | %.2f | %s | |\n", what.c_str(), ours, unit.c_str(), baseline,
                    unit.c_str(), baseline > 0 ? ours / baseline : 0.0, target.c_str());
    std::fflush(stdout);
}

void row_text(const std::string& what, const std::string& ours, const std::string& baseline,
              const std::string& target) {
    std::printf("| %s | %s | %s | | %s | |\n", what.c_str(), ours.c_str(), baseline.c_str(), target.c_str());
    std::fflush(stdout);
}

void give_up(const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
    std::exit(70);
}

Words sleepers(int n) {
    return {"/bin/sh", "-c",
            "i=1; while [ $i -lt " + std::to_string(n) + " ]; do sleep 120 & i=$((i+1)); done; wait"};
}

std::vector<sys::Fd> tree_below(pid_t root, int sleeping) {
    std::vector<sys::Fd> out;
    // All of them, and all past their exec: then nothing is on its way any more.
    if (!harness::eventually(harness::Deadline::in(patience), [&] {
            const auto found = harness::descendants(root);
            if (std::count_if(found.begin(), found.end(),
                              [](const auto& process) { return process.name == "sleep"; }) != sleeping)
                return false;
            out.clear();
            for (const auto& process : found)
                if (auto opened = harness::open_pidfd(process.pid))
                    out.push_back(std::move(*opened));
            return out.size() == found.size();
        }))
        give_up("a tree with " + std::to_string(sleeping) + " sleepers did not come up");
    return out;
}

void wait_all(const std::vector<sys::Fd>& pidfds) {
    for (const sys::Fd& one : pidfds)
        if (!harness::wait_pidfd(one.get(), harness::Deadline::in(patience)))
            give_up("a process did not end");
}

double until_first_word(const harness::HoldfastHome& home, const Words& before) {
    auto spec = home.command({});
    spec.argv = before;
    for (const std::string& word : home.animal("echo_server"))
        spec.argv.push_back(word);
    spec.in = harness::Stdio::pipe;
    const double begin = now_ms();
    auto child = harness::Child::spawn(spec);
    if (!child || !child->out().read_until("ready", harness::Deadline::in(patience)))
        give_up("echo_server did not start");
    const double took = now_ms() - begin;
    child->close_in();
    if (!child->wait(harness::Deadline::in(patience)))
        give_up("echo_server did not end");
    return took;
}

} // namespace holdfast::bench
