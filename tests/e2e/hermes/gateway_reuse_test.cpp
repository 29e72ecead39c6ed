// A gateway was killed, its record stayed, and the kernel gave its number away. Whoever has it now is never
// signalled, and the new gateway starts.
#include "harness/holdfast_program.hpp"
#include "harness/pidfd.hpp"
#include "pid_reuse/pid_reuse.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace pid_reuse;
using namespace std::chrono_literals;
using harness::Deadline;

constexpr pid_t chosen = 400;
constexpr const char* python = "/usr/bin/python3";
const std::string gateway = HOLDFAST_SOURCE_DIR "/tests/e2e/hermes/gateway.py";

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Signals that are on their way to it and that it does not take, as the kernel shows them.
std::string waiting_signals(pid_t pid) {
    std::istringstream lines(text_of("/proc/" + std::to_string(pid) + "/status"));
    std::string out;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("SigPnd:") || line.starts_with("ShdPnd:"))
            out += line.substr(8);
    return out;
}

const std::string none = std::string(32, '0');

// Takes no signal but those that nobody can refuse, and of those it would die.
int stranger() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    for (;;)
        ::pause();
}

// Its words go into `out`; ready when they are there.
Result<Spawned> start_bare(Scenario& scene, const std::string& record, harness::PipeReader& out) {
    int ends[2];
    if (::pipe(ends) != 0)
        return fail(Errc::io, "pipe");
    auto started = scene.spawn_with_pid(chosen, [&] {
        ::dup2(ends[1], STDOUT_FILENO);
        ::execl(python, python, gateway.c_str(), record.c_str(), nullptr);
        return 127;
    });
    ::close(ends[1]);
    out = harness::PipeReader(sys::Fd(ends[0]));
    return started;
}

class GatewayReuse : public testing::TestWithParam<const char*> {};

TEST_P(GatewayReuse, TheOneWhoHasTheNumberNowIsLeftAlone) {
    const harness::HoldfastHome home;
    const std::string record = home.path() + "/gateway.pid";
    const auto report = run({}, [&](Scenario& scene) {
        harness::PipeReader out;
        const auto old = start_bare(scene, record, out);
        if (!scene.check(old.has_value(), old ? "" : old.error().message) ||
            !scene.check(out.read_until("up 400\n", Deadline::in(10s)).has_value(),
                         "a gateway has the number"))
            return;
        (void)scene.end(*old);
        const std::string left = text_of(record);
        scene.check(left.find("\"pid\": 400") != std::string::npos, "and its record stays behind it");
        ::usleep(30'000); // another tick of the clock that start times have
        const auto now = scene.spawn_with_pid(chosen, stranger);
        if (!scene.check(now && now->pid == chosen, "its number is another's"))
            return;

        auto started =
            harness::Child::spawn(home.command({"run", "--slot", "gateway", "--adopt", record, "--if-held",
                                                GetParam(), "--", python, gateway, record}));
        if (!scene.check(started.has_value(), "holdfast runs"))
            return;
        scene.check(started->out().read_until("up ", Deadline::in(10s)).has_value(), "the new gateway is up");
        scene.check(text_of(record) != left, "with a record of its own");
        scene.check(waiting_signals(chosen) == none, "nobody signalled the stranger");
        scene.check(!harness::wait_pidfd(now->pidfd.get(), Deadline::exactly(50ms)), "who lives");
        (void)started->signal(SIGTERM);
        scene.check(started->wait(Deadline::in(10s)).has_value(), "the new gateway ends when it is told");
        scene.check(waiting_signals(chosen) == none, "and that is not the stranger's business either");
        // The control: by number it would have been hit, and this would have shown it.
        scene.check(::kill(chosen, SIGTERM) == 0 && waiting_signals(chosen) != none, "a signal is seen");
    });
    if (!report && report.error().code == Errc::unsupported)
        GTEST_SKIP() << report.error().message;
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->passed()) << report->text();
    EXPECT_EQ(report->checks, 12) << "every step was taken";
}

INSTANTIATE_TEST_SUITE_P(Policies, GatewayReuse, testing::Values("refuse", "replace", "wait"),
                         [](const auto& policy) { return std::string(policy.param); });

} // namespace
} // namespace holdfast
