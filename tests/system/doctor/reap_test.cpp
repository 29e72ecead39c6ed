// reap ends what was proven, all of it and nothing else.
#include "mess_fixture.hpp"

#include "sys/fd.hpp"
#include "sys/pidfd.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>

namespace holdfast::doctor {
namespace {

class Reap : public MadeUpMess {
protected:
    [[nodiscard]] int orphan() const { return *truth("pipes").pids.begin(); }
};

TEST_F(Reap, ADryRunTouchesNobody) {
    Report report = all_proven();
    auto result = reap(report, {});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->dry_run);
    std::set<int> named, proven;
    for (const Reaped& one : result->processes) {
        EXPECT_EQ(one.outcome, Outcome::would_end);
        named.insert(one.pid);
    }
    for (const Truth& truth : truths) {
        if (truth.expectation == "orphaned!")
            proven.insert(truth.pids.begin(), truth.pids.end());
        for (int pid : truth.pids)
            EXPECT_TRUE(alive(pid) || truth.expectation == "zombie!") << truth.name;
    }
    EXPECT_EQ(named, proven);
}

// In one go on a quiet machine. On a crowded one the second look may spare somebody: then it is not touched,
// and a later one ends it.
TEST_F(Reap, EndsAllThatWasProvenAndLeavesTheInnocentAlive) {
    std::map<int, Outcome> outcomes;
    ReapReport last;
    const std::set<int> orphans = true_orphans();
    Report report = all_proven();
    const bool all_ended = harness::eventually(harness::Deadline::in(120s), [&] {
        auto result = reap(report, {.yes = true, .grace = base::Millis(1000)});
        EXPECT_TRUE(result) << result.error().message;
        if (!result)
            return true;
        last = std::move(*result);
        for (const Reaped& one : last.processes) {
            EXPECT_NE(one.outcome, Outcome::survived) << to_text(last);
            if (one.outcome == Outcome::spared)
                EXPECT_TRUE(alive(one.pid)) << to_text(last);
            else
                outcomes.try_emplace(one.pid, one.outcome);
        }
        const bool gone = std::ranges::none_of(orphans, [](int pid) { return alive(pid); });
        if (!gone)
            report = examined();
        return gone || HasFailure();
    });
    ASSERT_TRUE(all_ended) << to_text(last);
    for (const Truth& truth : truths)
        for (int pid : truth.pids) {
            if (truth.expectation == "orphaned!") {
                EXPECT_FALSE(alive(pid)) << truth.name;
                EXPECT_TRUE(outcomes.contains(pid)) << truth.name;
            } else if (truth.expectation != "zombie!") {
                EXPECT_TRUE(alive(pid)) << truth.name;
                EXPECT_FALSE(outcomes.contains(pid)) << truth.name;
            }
        }
    EXPECT_EQ(outcomes.at(orphan()), Outcome::ended);
    EXPECT_EQ(outcomes.at(*truth("stopped").pids.begin()), Outcome::ended) << "TERM needs CONT";
    EXPECT_EQ(outcomes.at(*truth("term_ignorer").pids.begin()), Outcome::killed);
    EXPECT_EQ(outcomes.at(*truth("stopped_ignorer").pids.begin()), Outcome::killed);
    // One more than was proven: what heir_leaver started when it was told to go.
    EXPECT_EQ(outcomes.size(), orphans.size() + 1) << to_text(last);
    for (auto [pid, outcome] : outcomes)
        EXPECT_FALSE(alive(pid)) << pid << " " << name_of(outcome);
    EXPECT_TRUE(proven_orphans(examined()).empty());
}

// Between the two looks somebody opens the other end of its stdout: it is not cut off any more.
TEST_F(Reap, SparesOneWhoseProofNoLongerHolds) {
    sys::Fd reader;
    ReapOptions reaping{.yes = true, .grace = base::Millis(1000)};
    reaping.before_second_look = [&] {
        reader =
            sys::Fd(::open(("/proc/" + std::to_string(orphan()) + "/fd/1").c_str(), O_RDONLY | O_CLOEXEC));
        ASSERT_TRUE(reader);
    };
    auto result = reap(proven(orphan()), reaping);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->processes.size(), 1U);
    EXPECT_EQ(result->processes[0].outcome, Outcome::spared);
    EXPECT_TRUE(alive(orphan()));
}

TEST_F(Reap, SaysWhenOneWentByItself) {
    auto process = sys::PidFd::open(orphan());
    ASSERT_TRUE(process);
    ReapOptions reaping{.yes = true, .grace = base::Millis(1000)};
    reaping.before_second_look = [&] {
        ASSERT_TRUE(process->signal(SIGKILL));
        ASSERT_TRUE(process->wait_ended(sys::Deadline::in(test::patient(10s))));
    };
    auto result = reap(proven(orphan()), reaping);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->processes.size(), 1U);
    EXPECT_EQ(result->processes[0].outcome, Outcome::already_gone);
}

// A report about a process that had this number before.
TEST_F(Reap, LeavesAnotherProcessOfTheSameNumberAlone) {
    Report report = proven(orphan());
    if (report.findings[0].identity.pidfd_inode != 0)
        report.findings[0].identity.pidfd_inode += 1;
    else
        report.findings[0].identity.start_ticks += 1;
    auto result = reap(report, {.yes = true, .grace = base::Millis(1000)});
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->processes.size(), 1U);
    EXPECT_EQ(result->processes[0].outcome, Outcome::already_gone);
    EXPECT_TRUE(alive(orphan()));
}

// A report that claims too much is not believed: the proof is made again.
TEST_F(Reap, NeverEndsWhatIsOnlySuspected) {
    int busy = *truth("busy").pids.begin();
    Report report = only(examined(), busy);
    auto result = reap(report, {.yes = true, .grace = base::Millis(1000)});
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->processes.empty());
    EXPECT_EQ(result->suspected_left_alone, 1U);
    report.findings[0].proven = true;
    result = reap(report, {.yes = true, .grace = base::Millis(1000)});
    ASSERT_TRUE(result);
    ASSERT_EQ(result->processes.size(), 1U);
    EXPECT_EQ(result->processes[0].outcome, Outcome::spared);
    EXPECT_TRUE(alive(busy));
}

// On a machine that gives it no processor a process at work gets nothing done, and is not idle for that.
TEST_F(Reap, NeverEndsOneThatIsKeptFromItsWork) {
    const int starved = *truth("busy").pids.begin();
    const auto processor = static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN) - 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    const sched_param none{};
    ASSERT_EQ(::sched_setaffinity(starved, sizeof one, &one), 0);
    ASSERT_EQ(::sched_setscheduler(starved, SCHED_IDLE, &none), 0);
    std::vector<Child> others;
    for (int i = 0; i < 24; ++i) {
        auto spec = home.command_of("zoo/cpu_spinner", {"--seconds=60"});
        spec.own_session = true; // the kernel shares a processor between sessions first
        auto other = Child::spawn(spec);
        ASSERT_TRUE(other) << other.error().message;
        ASSERT_EQ(::sched_setaffinity(other->pid(), sizeof one, &one), 0);
        others.push_back(std::move(*other));
    }
    Report report = only(examined(), starved);
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_FALSE(report.findings[0].proven) << to_text(report);
    report.findings[0].proven = true; // the second look has to see it too
    auto result = reap(report, {.yes = true, .grace = base::Millis(1000)});
    ASSERT_TRUE(result);
    ASSERT_EQ(result->processes.size(), 1U);
    EXPECT_EQ(result->processes[0].outcome, Outcome::spared);
    EXPECT_TRUE(alive(starved));
}

} // namespace
} // namespace holdfast::doctor
