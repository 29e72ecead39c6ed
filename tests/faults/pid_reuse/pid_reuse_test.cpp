// Reuse is real: the number comes back with another process, and only pidfds tell the two apart.
#include "harness/marked.hpp"
#include "harness/pidfd.hpp"
#include "pid_reuse/pid_reuse.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <unistd.h>

using namespace holdfast;
using namespace holdfast::pid_reuse;
using namespace std::chrono_literals;
using harness::Deadline;

namespace {

constexpr pid_t chosen = 400;

int sleep_on() {
    for (;;)
        ::pause();
}

// Runs it, or skips with the reason where the machine does not allow namespaces.
#define RUN_SCENARIO(report, options, ...)                                                                   \
    const auto report = run(options, __VA_ARGS__);                                                           \
    if (!report && report.error().code == Errc::unsupported)                                                 \
        GTEST_SKIP() << report.error().message;                                                              \
    ASSERT_TRUE(report) << report.error().message

class PidReuse : public testing::TestWithParam<std::tuple<Means, bool>> {
protected:
    static Options options() { return {20s, std::get<1>(GetParam())}; }
};

TEST_P(PidReuse, TheSameNumberComesBackWithAnotherProcess) {
    RUN_SCENARIO(report, options(), [](Scenario& scene) {
        auto first = scene.spawn_with_pid(chosen, sleep_on, std::get<0>(GetParam()));
        if (!scene.check(first.has_value(), first ? "" : first.error().message))
            return;
        scene.check(first->pid == chosen, "the first has the number");
        const auto taken = scene.spawn_with_pid(chosen, sleep_on, std::get<0>(GetParam()));
        scene.check(!taken && taken.error().code == Errc::held, "a number in use is not given twice");
        const auto ended = scene.end(*first);
        scene.check(ended && ended->killed_by(SIGKILL), "the first was ended");

        auto second = scene.spawn_with_pid(chosen, sleep_on, std::get<0>(GetParam()));
        if (!scene.check(second.has_value(), second ? "" : second.error().message))
            return;
        scene.check(second->pid == chosen, "the second has the same number");
        // The pidfd stays with the dead one; the number does not.
        const int sent = harness::pidfd_signal(first->pidfd.get(), SIGKILL);
        scene.check(sent == -1 && errno == ESRCH, "the old pidfd gives ESRCH");
        scene.check(!harness::wait_pidfd(second->pidfd.get(), Deadline::exactly(20ms)),
                    "the stranger was not hit");
        // The control: by number it would have been.
        scene.check(::kill(chosen, SIGKILL) == 0, "kill by number finds somebody");
        scene.check(harness::wait_pidfd(second->pidfd.get(), Deadline::in(5s)).has_value(),
                    "and kills the stranger");
    });
    EXPECT_TRUE(report->passed()) << report->text();
    EXPECT_EQ(report->checks, 10) << "every step was taken";
}

INSTANTIATE_TEST_SUITE_P(Ways, PidReuse,
                         testing::Combine(testing::Values(Means::set_tid, Means::last_pid), testing::Bool()),
                         [](const auto& way) {
                             return std::string(std::get<0>(way.param) == Means::set_tid ? "set_tid"
                                                                                         : "last_pid") +
                                    (std::get<1>(way.param) ? "_own_users" : "");
                         });

TEST(PidReuseIdentity, PidAndStartTimeCollideAndThePidfsInodeNeverDoes) {
    constexpr int rounds = 200;
    RUN_SCENARIO(report, Options{}, [](Scenario& scene) {
        unsigned long long last_start = 0;
        int same_start = 0;
        std::set<unsigned long long> inodes;
        bool pidfs = true;
        for (int round = 0; round < rounds; ++round) {
            const auto process = scene.spawn_with_pid(chosen, sleep_on);
            if (!scene.check(process.has_value(), process ? "" : process.error().message))
                return;
            const auto seen = harness::inspect(chosen);
            if (!scene.check(seen.has_value(), "it is in /proc"))
                return;
            same_start += round > 0 && seen->start == last_start ? 1 : 0;
            last_start = seen->start;
            const auto inode = pidfs_inode(process->pidfd.get());
            pidfs = pidfs && inode.has_value();
            if (inode)
                scene.check(inodes.insert(*inode).second, "an inode came twice");
            scene.check(scene.end(*process).has_value(), "it ended");
        }
        scene.note("reuses", rounds - 1);
        scene.note("same pid and start time", same_start);
        scene.note("pidfs", pidfs ? 1 : 0);
        scene.check(same_start >= 1, "(pid, start time) collided at least once");
    });
    EXPECT_TRUE(report->passed()) << report->text();
    std::printf("%s", report->text().c_str());
    RecordProperty("collisions", static_cast<int>(report->notes.at("same pid and start time")));
}

TEST(PidReuseScenario, IsAWorldOfItsOwn) {
    RUN_SCENARIO(report, Options{}, [](Scenario& scene) {
        scene.check(::getpid() == 1, "it is PID 1");
        const auto self = harness::inspect(1);
        scene.check(self && self->ppid == 0, "and /proc shows this namespace");
        scene.check(harness::descendants(0).size() == 1, "with nobody else in it");
        harness::SpawnSpec spec;
        spec.argv = {"/bin/sh", "-c", "echo $$"};
        const auto finished = harness::run_to_end(spec, Deadline::in(5s));
        scene.check(finished && std::stoi(finished->out) < 100, "programs can be run inside");
    });
    EXPECT_TRUE(report->passed()) << report->text();
}

TEST(PidReuseScenario, AFailureInsideIsSeenOutside) {
    RUN_SCENARIO(report, Options{}, [](Scenario& scene) { scene.check(false, "as it should"); });
    EXPECT_FALSE(report->passed());
    EXPECT_EQ(report->failures, std::vector<std::string>{"as it should"});

    RUN_SCENARIO(silent, Options{}, [](Scenario&) {});
    EXPECT_FALSE(silent->passed()) << "a scenario that checks nothing has proven nothing";

    RUN_SCENARIO(broken, Options{}, [](Scenario& scene) {
        scene.check(true, "");
        ::_exit(3);
    });
    EXPECT_FALSE(broken->passed()) << "nor has one that ended in the middle";
}

TEST(PidReuseScenario, IsBoundedAndLeavesNothing) {
    const harness::MarkGuard mark;
    ::setenv("ZOO_TOKEN", mark.token().c_str(), 1);
    const auto report = run({300ms, false}, [](Scenario& scene) {
        harness::SpawnSpec spec; // exec'd, so that its environment shows the token
        spec.argv = {"/bin/sh", "-c", "setsid sleep 3600 & sleep 3600"};
        auto child = harness::Child::spawn(spec);
        scene.check(child.has_value(), "started");
        sleep_on();
    });
    ::unsetenv("ZOO_TOKEN");
    ASSERT_FALSE(report);
    if (report.error().code == Errc::unsupported)
        GTEST_SKIP() << report.error().message;
    EXPECT_EQ(report.error().code, Errc::timed_out);
    EXPECT_TRUE(report.error().message.contains("check")) << "it had got as far as starting them";
    EXPECT_TRUE(mark.survivors(Deadline::in(5s)).empty());
}

} // namespace
