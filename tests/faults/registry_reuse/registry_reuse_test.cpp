// A registered process is gone and its number is another's: nobody may touch that one.
#include "harness/holdfast_program.hpp"
#include "harness/pidfd.hpp"
#include "holdfast/registry.hpp"
#include "pid_reuse/pid_reuse.hpp"
#include "sys/pidfd.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace pid_reuse;
using namespace std::chrono_literals;
using harness::Deadline;

constexpr pid_t chosen = 400;

int sleep_on() {
    for (;;)
        ::pause();
}

// Registers `chosen` in a host of its own that is then killed.
std::string register_and_crash(const std::string& directory) {
    int ends[2];
    if (::pipe(ends) != 0)
        return {};
    pid_t host = ::fork();
    if (host == 0) {
        auto* registry = new Registry(std::move(*Registry::open({.host = "h", .directory = directory})));
        auto one = registry->register_process(chosen, {.label = "victim", .session = "S"});
        std::string id = one ? one->id : "";
        (void)!::write(ends[1], id.data(), id.size());
        ::close(ends[1]);
        sleep_on();
    }
    ::close(ends[1]);
    char id[32];
    ssize_t n = ::read(ends[0], id, sizeof id);
    ::close(ends[0]);
    ::kill(host, SIGKILL); // our child, not waited for
    ::waitpid(host, nullptr, 0);
    return n > 0 ? std::string(id, static_cast<std::size_t>(n)) : std::string();
}

bool still_there(const Spawned& process) {
    return !harness::wait_pidfd(process.pidfd.get(), Deadline::exactly(50ms));
}

// How a process may be told from its successor: by the pidfd's inode, or as on older kernels by its start
// ticks.
class RegistryReuse : public testing::TestWithParam<bool> {
protected:
    harness::HoldfastHome home_;
    [[nodiscard]] std::string directory() const { return home_.path() + "/run/default/helpers"; }
    void run_scenario(const std::function<void(Scenario&)>& scenario) {
        auto report = run({}, [&](Scenario& scene) {
            if (!GetParam()) {
                ::setenv("HOLDFAST_WITHOUT_PIDFS", "1", 1); // for the programs that it starts
                sys::PidFd::ignore_inodes();
            }
            scenario(scene);
        });
        if (!report && report.error().code == Errc::unsupported)
            GTEST_SKIP() << report.error().message;
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->passed()) << report->text();
    }
    // Ends the first and gives its number to a second, at another tick of the clock that start times have.
    static Result<Spawned> replace(Scenario& scene, const Spawned& first) {
        (void)scene.end(first);
        ::usleep(30'000);
        return scene.spawn_with_pid(chosen, sleep_on);
    }
};

TEST_P(RegistryReuse, AfterARestartTheStrangerIsLeftAlone) {
    run_scenario([&](Scenario& scene) {
        auto first = scene.spawn_with_pid(chosen, sleep_on);
        if (!scene.check(first.has_value(), "the first stands"))
            return;
        scene.check(!register_and_crash(directory()).empty(), "it was registered");
        auto stranger = replace(scene, *first);
        if (!scene.check(stranger.has_value() && stranger->pid == chosen, "its number is another's"))
            return;
        auto registry = Registry::open({.host = "h", .directory = directory()});
        if (!scene.check(registry.has_value(), "the registry opens"))
            return;
        auto seen = registry->survey();
        scene.check(seen && seen->size() == 1 && !seen->front().alive, "the survey is not fooled");
        auto report = registry->adopt_or_reap_after_restart(AfterRestart::reap, {.now = true});
        scene.check(report && report->finished.size() == 1, "it is found dead");
        scene.check(report && report->ended.empty() && report->adopted.empty(),
                    "and neither ended nor adopted");
        scene.check(still_there(*stranger), "the stranger lives");
    });
}

// The control: the same with the very process that was registered.
TEST_P(RegistryReuse, TheProcessItselfIsEnded) {
    run_scenario([&](Scenario& scene) {
        auto first = scene.spawn_with_pid(chosen, sleep_on);
        if (!scene.check(first.has_value(), "the first stands"))
            return;
        scene.check(!register_and_crash(directory()).empty(), "it was registered");
        auto registry = Registry::open({.host = "h", .directory = directory()});
        if (!scene.check(registry.has_value(), "the registry opens"))
            return;
        auto report = registry->adopt_or_reap_after_restart(AfterRestart::reap, {.now = true});
        scene.check(report && report->ended.size() == 1 && report->finished.empty(), "it is ended");
        scene.check(!still_there(*first), "it is gone");
    });
}

TEST_P(RegistryReuse, ALivingHostDoesNotEndTheStranger) {
    run_scenario([&](Scenario& scene) {
        auto first = scene.spawn_with_pid(chosen, sleep_on);
        auto registry = Registry::open({.host = "h", .directory = directory()});
        if (!scene.check(first.has_value() && registry.has_value(), "it stands"))
            return;
        auto one = registry->register_process(chosen, {.session = "S"});
        scene.check(one.has_value(), "it was registered");
        auto stranger = replace(scene, *first); // the registry was not asked meanwhile: it has not noticed
        if (!scene.check(stranger.has_value(), "its number is another's"))
            return;
        auto report = registry->end_session("S", {.now = true});
        scene.check(report && report->ended.empty() && report->clean(), "there is nothing to end");
        scene.check(!registry->has_active("S"), "nobody is active");
        scene.check(still_there(*stranger), "the stranger lives");
        scene.check(registry->register_process(chosen, {.session = "S"}).has_value(),
                    "and may be registered itself");
        scene.check(registry->has_active("S"), "it is active then");
    });
}

TEST_P(RegistryReuse, TheCommandLineDoesNotStopTheStranger) {
    run_scenario([&](Scenario& scene) {
        auto first = scene.spawn_with_pid(chosen, sleep_on);
        if (!scene.check(first.has_value(), "it stands"))
            return;
        std::string id = register_and_crash(directory());
        auto stranger = replace(scene, *first);
        if (!scene.check(stranger.has_value(), "its number is another's"))
            return;
        auto spec = home_.command({"stop", "--all", "--now"});
        if (!GetParam())
            spec.env.emplace_back("HOLDFAST_WITHOUT_PIDFS=1");
        auto done = harness::run_to_end(spec, Deadline::in(10s));
        scene.check(done && done->out.find("nothing to stop") != std::string::npos,
                    done ? done->out + done->err : "it runs");
        scene.check(still_there(*stranger), "the stranger lives");
    });
}

INSTANTIATE_TEST_SUITE_P(Kernels, RegistryReuse, testing::Bool(),
                         [](const auto& way) { return way.param ? "pidfs" : "start_ticks"; });

} // namespace
} // namespace holdfast
