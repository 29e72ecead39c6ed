// From kill -9 of a helper to its replacement's main(), under several supervisors, one after the other in the
// same run. Each helper has been up for longer than a second before it is killed: runit and s6 pause below
// that.
#include "keep/measures.hpp"
#include "stage/stage.hpp"

#include "harness/pidfd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>

namespace holdfast::bench {

namespace {

namespace fs = std::filesystem;

struct Beat {
    double at_ms = 0;
    pid_t pid = 0;
};

// The last line of the helper's file, when there are more than `after` lines.
std::optional<Beat> beat_after(const std::string& file, std::size_t after) {
    std::istringstream text(harness::read_file(file).value_or(""));
    Beat last;
    std::size_t lines = 0;
    for (long long ns = 0; text >> ns >> last.pid; ++lines)
        last.at_ms = static_cast<double>(ns) / 1e6;
    return lines > after ? std::optional(last) : std::nullopt;
}

Beat await(const std::string& file, std::size_t after, const std::string& who) {
    std::optional<Beat> found;
    if (!harness::eventually(harness::Deadline::in(patience),
                             [&] { return (found = beat_after(file, after)).has_value(); }))
        give_up(who + " did not start its helper");
    return *found;
}

// Kills the helper `rounds` times; the median from kill to the new main().
double respawn_under(const std::string& who, const std::string& file, int rounds) {
    std::vector<double> figures;
    Beat beat = await(file, 0, who);
    for (int i = 1; i <= rounds; ++i) {
        std::this_thread::sleep_for(1200ms);
        auto helper = harness::open_pidfd(beat.pid);
        if (!helper)
            give_up("the helper of " + who + " is gone");
        const double begin = now_ms();
        (void)harness::pidfd_signal(helper->get(), SIGKILL);
        beat = await(file, static_cast<std::size_t>(i), who);
        figures.push_back(beat.at_ms - begin);
    }
    return quantile(figures, 0.5);
}

std::string script(const harness::TempDir& dir, const std::string& name, const std::string& text) {
    const std::string path = dir.file(name);
    if (!harness::write_file(path, text) || ::chmod(path.c_str(), 0755) != 0)
        give_up("cannot write " + path);
    return path;
}

// A supervisor that is started by `argv`, measured, and asked to leave.
double measured(const std::string& who, const harness::HoldfastHome& home, const Words& argv,
                const std::string& file, int rounds, const std::vector<std::string>& env = {}) {
    auto spec = home.command({});
    spec.argv = argv;
    spec.env.insert(spec.env.end(), env.begin(), env.end());
    auto child = harness::Child::spawn(spec);
    if (!child)
        give_up(who + ": " + child.error().message);
    const double figure = respawn_under(who, file, rounds);
    (void)child->signal(SIGTERM);
    (void)child->wait(harness::Deadline::in(std::chrono::seconds(10)));
    return figure; // what is left carries the home's token and is ended with it
}

// The floor: fork, wait on the pidfd, fork again.
double bare_loop(const harness::HoldfastHome& home, const std::string& beat, const std::string& file,
                 int rounds) {
    std::atomic<bool> stop = false;
    std::thread loop([&] {
        while (!stop) {
            auto spec = home.command({});
            spec.argv = {beat, file};
            auto child = harness::Child::spawn(spec);
            while (child && !stop && !child->wait(harness::Deadline::in(100ms))) {
            }
        }
    });
    const double figure = respawn_under("the bare loop", file, rounds);
    stop = true;
    loop.join();
    return figure;
}

bool have(const std::string& path) {
    return ::access(path.c_str(), X_OK) == 0;
}

} // namespace

void measure_respawn(int rounds, const std::string& pm2) {
    const harness::HoldfastHome home;
    const std::string beat = harness::program("stage/keep_beat");
    const auto file = [&](const char* name) { return home.dir().file(std::string(name) + ".beats"); };

    const double bare = bare_loop(home, beat, file("bare"), rounds);
    const double ours =
        measured("holdfast", home,
                 {harness::program("holdfast"), "run", "--restart", "always", "--restart-delay", "0ms",
                  "--restart-max", "0", "--", beat, file("holdfast")},
                 file("holdfast"), rounds);
    row("respawn after kill -9, p50; beside a bare pidfd loop", ours, bare, "ms", "within 2x");

    const harness::TempDir services;
    if (have("/usr/bin/runsv")) {
        fs::create_directories(services.path() / "runit");
        script(services, "runit/run", "#!/bin/sh\nexec " + beat + " " + file("runit") + "\n");
        row("the same under runit", ours,
            measured("runit", home, {"/usr/bin/runsv", services.file("runit")}, file("runit"), rounds), "ms",
            "");
    } else {
        row_text("the same under runit", "", "not installed", "");
    }
    if (have("/usr/bin/s6-supervise")) {
        fs::create_directories(services.path() / "s6");
        script(services, "s6/run", "#!/bin/sh\nexec " + beat + " " + file("s6") + "\n");
        row("the same under s6", ours,
            measured("s6", home, {"/usr/bin/s6-supervise", services.file("s6")}, file("s6"), rounds), "ms",
            "");
    } else {
        row_text("the same under s6", "", "not installed", "");
    }
    if (have("/usr/bin/supervisord")) {
        const std::string conf =
            script(services, "supervisord.conf",
                   "[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\npidfile=" +
                       services.file("supervisord.pid") + "\n[program:beat]\ncommand=" + beat + " " +
                       file("supervisord") + "\nautorestart=true\nstartsecs=0\n");
        row("the same under supervisord", ours,
            measured("supervisord", home, {"/usr/bin/supervisord", "-c", conf}, file("supervisord"), rounds),
            "ms", "");
    } else {
        row_text("the same under supervisord", "", "not installed", "");
    }
    if (have(pm2)) {
        row("the same under pm2", ours,
            measured("pm2", home,
                     {pm2, "start", beat, "--no-daemon", "--interpreter", "none", "--", file("pm2")},
                     file("pm2"), rounds, {"PM2_HOME=" + services.file("pm2")}),
            "ms", "");
    } else {
        row_text("the same under pm2", "", "not installed", "");
    }
}

} // namespace holdfast::bench
