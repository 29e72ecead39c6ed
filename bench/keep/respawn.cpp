// From kill -9 of a helper to its replacement's main(), under several supervisors, in turns in
// one run. Each helper has been up for longer than a second before it is killed: runit and s6 pause below
// that.
#include "keep/measures.hpp"
#include "stage/stage.hpp"

#include "harness/pidfd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

// A supervisor with its helper, which is killed in turn with those of the others.
struct Supervised {
    std::string who;
    std::string file;
    std::optional<harness::Child> supervisor;
    std::size_t beats = 0;
    Beat beat = {};
    std::vector<double> figures = {};

    void wait_for_beat() {
        beat = await(file, beats, who);
        ++beats;
    }
    void kill_helper() {
        auto helper = harness::open_pidfd(beat.pid);
        if (!helper)
            give_up("the helper of " + who + " is gone");
        const double begin = now_ms();
        (void)harness::pidfd_signal(helper->get(), SIGKILL);
        wait_for_beat();
        figures.push_back(beat.at_ms - begin);
    }
};

std::string script(const harness::TempDir& dir, const std::string& name, const std::string& text) {
    const std::string path = dir.file(name);
    if (!harness::write_file(path, text) || ::chmod(path.c_str(), 0755) != 0)
        give_up("cannot write " + path);
    return path;
}

Supervised start(const std::string& who, const harness::HoldfastHome& home, const Words& argv,
                 const std::string& file, const std::vector<std::string>& env = {}) {
    auto spec = home.command({});
    spec.argv = argv;
    spec.env.insert(spec.env.end(), env.begin(), env.end());
    auto child = harness::Child::spawn(spec);
    if (!child)
        give_up(who + ": " + child.error().message);
    Supervised out{.who = who, .file = file, .supervisor = std::move(*child)};
    out.wait_for_beat();
    return out; // what is left carries the home's token and is ended with it
}

// The floor: fork, wait on the pidfd, fork again.
class BareLoop {
public:
    BareLoop(const harness::HoldfastHome& home, const std::string& beat, const std::string& file)
        : loop_([&home, beat, file](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                auto spec = home.command({});
                spec.argv = {beat, file};
                auto child = harness::Child::spawn(spec);
                while (child && !stop.stop_requested() && !child->wait(harness::Deadline::in(100ms))) {
                }
            }
        }) {}

private:
    std::jthread loop_;
};

bool have(const std::string& path) {
    return ::access(path.c_str(), X_OK) == 0;
}

} // namespace

void measure_respawn(const Run& run, int rounds, const std::string& pm2) {
    const harness::HoldfastHome home;
    const std::string beat = harness::program("stage/keep_beat");
    const auto file = [&](const std::string& name) { return home.dir().file(name + ".beats"); };
    const auto guarded = [&](const Programs& programs, const std::string& name) {
        return start(name, home,
                     {programs.path("holdfast"), "run", "--restart", "always", "--restart-delay", "0ms",
                      "--restart-max", "0", "--", beat, file(name)},
                     file(name));
    };
    std::optional<BareLoop> loop;
    std::vector<Supervised> all;
    all.push_back(guarded(run.ours, "holdfast"));
    const harness::TempDir services;
    Words missing;
    if (run.other) {
        all.push_back(guarded(*run.other, "the other commit"));
    } else {
        loop.emplace(home, beat, file("bare"));
        all.push_back({.who = "a bare pidfd loop", .file = file("bare")});
        all.back().wait_for_beat();
        const auto peer = [&](const std::string& name, const std::string& program, const auto& prepare) {
            if (have(program))
                all.push_back(prepare());
            else
                missing.push_back(name);
        };
        peer("runit", "/usr/bin/runsv", [&] {
            fs::create_directories(services.path() / "runit");
            script(services, "runit/run", "#!/bin/sh\nexec " + beat + " " + file("runit") + "\n");
            return start("runit", home, {"/usr/bin/runsv", services.file("runit")}, file("runit"));
        });
        peer("s6", "/usr/bin/s6-supervise", [&] {
            fs::create_directories(services.path() / "s6");
            script(services, "s6/run", "#!/bin/sh\nexec " + beat + " " + file("s6") + "\n");
            return start("s6", home, {"/usr/bin/s6-supervise", services.file("s6")}, file("s6"));
        });
        peer("supervisord", "/usr/bin/supervisord", [&] {
            const std::string conf =
                script(services, "supervisord.conf",
                       "[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\npidfile=" +
                           services.file("supervisord.pid") + "\n[program:beat]\ncommand=" + beat + " " +
                           file("supervisord") + "\nautorestart=true\nstartsecs=0\n");
            return start("supervisord", home, {"/usr/bin/supervisord", "-c", conf}, file("supervisord"));
        });
        peer("pm2", pm2, [&] {
            return start("pm2", home,
                         {pm2, "start", beat, "--no-daemon", "--interpreter", "none", "--", file("pm2")},
                         file("pm2"), {"PM2_HOME=" + services.file("pm2")});
        });
    }
    for (int i = 0; i < rounds; ++i) {
        std::this_thread::sleep_for(1200ms); // runit and s6 pause when a helper was up for less than a second
        for (std::size_t at = 0; at < all.size(); ++at)
            all[(at + static_cast<std::size_t>(i)) % all.size()].kill_helper();
    }
    for (Supervised& one : all)
        if (one.supervisor) {
            (void)one.supervisor->signal(SIGTERM);
            (void)one.supervisor->wait(harness::Deadline::in(std::chrono::seconds(10)));
        }
    for (std::size_t at = 1; at < all.size(); ++at)
        pair_row_of({.what = "respawn after kill -9",
                     .beside = all[at].who,
                     .unit = "ms",
                     .at_most = at == 1 && !run.other ? std::optional(2.0) : std::nullopt},
                    all.front().figures, all[at].figures);
    for (const std::string& one : missing)
        row_text("respawn after kill -9; beside " + one, "", "not installed", "");
}

} // namespace holdfast::bench
