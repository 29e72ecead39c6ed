// The stepper on one process: every point is reached, and what a kill leaves is exactly the prefix.
#include "harness/holdfast_program.hpp"
#include "stepper/stepper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <sys/syscall.h>

using namespace holdfast;
using namespace holdfast::stepper;
using namespace std::chrono_literals;
using harness::TempDir;

namespace {

Spec writer(const TempDir& dir) {
    Spec spec;
    spec.program.argv = {harness::program("stepped/stepped_writer"), dir.file("out")};
    return spec;
}

std::string content(const TempDir& dir) {
    return harness::read_file(dir.file("out")).value_or("");
}

std::size_t writes_among(const std::vector<std::string>& names, std::size_t first) {
    return static_cast<std::size_t>(
        std::count(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(first), "write"));
}

TEST(Stepper, APlainRunCountsEveryCallAndEndsByItself) {
    const TempDir dir;
    const auto counted = count_syscalls(writer(dir));
    ASSERT_TRUE(counted) << counted.error().message;
    EXPECT_EQ(content(dir), "abcdefgh");
    EXPECT_EQ(writes_among(counted->names, counted->count()), 8U);
    EXPECT_EQ(std::count(counted->names.begin(), counted->names.end(), "getppid"), 8);
    EXPECT_EQ(std::count(counted->names.begin(), counted->names.end(), "lseek"), 4);
    EXPECT_EQ(counted->names.back(), "exit_group");
    EXPECT_NE(counted->names.front(), "execve") << "counted from the program's own first call";
    ASSERT_EQ(counted->family.size(), 1U);
    EXPECT_EQ(counted->family[0].how, Ended::How::exited);
}

class StepperAt : public testing::TestWithParam<When> {};

TEST_P(StepperAt, AKillAtEachCallLeavesExactlyThePrefix) {
    const TempDir plain_dir;
    const auto plain = count_syscalls(writer(plain_dir));
    ASSERT_TRUE(plain);
    std::vector<TempDir> dirs(plain->count() + 5);
    const auto points = sweep(
        GetParam(), plain->count() + 5, [&](std::size_t k) { return writer(dirs[k - 1]); },
        [&](std::size_t k, const Outcome& outcome) {
            if (!outcome.reached) {
                EXPECT_EQ(content(dirs[k - 1]), "abcdefgh");
                return;
            }
            ASSERT_LE(k, plain->count());
            EXPECT_EQ(outcome.name, plain->names[k - 1]);
            EXPECT_EQ(outcome.root().how, Ended::How::killed_here);
            // Before the call took effect, or after: the k-th itself is in or out.
            const std::size_t done = writes_among(plain->names, GetParam() == When::entry ? k - 1 : k);
            EXPECT_EQ(content(dirs[k - 1]), std::string("abcdefgh").substr(0, done))
                << "killed at " << k << ", " << outcome.name;
        });
    ASSERT_TRUE(points) << points.error().message;
    // exit_group has an entry and no return.
    EXPECT_EQ(*points, GetParam() == When::entry ? plain->count() : plain->count() - 1);
}

INSTANTIATE_TEST_SUITE_P(BeforeAndAfter, StepperAt, testing::Values(When::entry, When::exit),
                         [](const auto& at) { return at.param == When::entry ? "entry" : "exit"; });

// The negative control: the usual "kill when some call is made for the k-th time", for k = 1 to N, dies at
// far fewer different places than there are calls.
TEST(Stepper, ControlCountingPerNameReachesOnlyAFractionOfThePoints) {
    const TempDir dir;
    const auto plain = count_syscalls(writer(dir));
    ASSERT_TRUE(plain);
    std::set<std::size_t> reached;
    for (std::size_t k = 1; k <= plain->count(); ++k) {
        std::map<std::string, std::size_t> seen;
        for (std::size_t at = 0; at < plain->count(); ++at)
            if (++seen[plain->names[at]] == k) {
                reached.insert(at);
                break;
            }
    }
    EXPECT_LT(reached.size(), plain->count() / 2);
    EXPECT_GE(reached.size(), 1U);
}

TEST(Stepper, APointBehindTheEndIsNotReached) {
    const TempDir dir;
    const auto outcome = kill_at(writer(dir), 100000, When::entry);
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->reached);
    EXPECT_EQ(outcome->root().how, Ended::How::exited);
    EXPECT_EQ(content(dir), "abcdefgh");
}

TEST(Stepper, ASweepThatIsCutShortIsNoFinishedSweep) {
    const TempDir dir;
    const auto points =
        sweep(When::entry, 3, [&](std::size_t) { return writer(dir); }, [](std::size_t, const Outcome&) {});
    ASSERT_FALSE(points);
    EXPECT_EQ(points.error().code, Errc::overflow);
}

TEST(Stepper, SaysWhatIsWrongWithTheRequest) {
    Spec spec;
    spec.program.argv = {"/no/such/program"};
    EXPECT_EQ(kill_at(spec, 1, When::entry).error().code, Errc::cannot_start);
    EXPECT_EQ(kill_at(spec, 0, When::entry).error().code, Errc::invalid_argument);
    EXPECT_EQ(count_syscalls(Spec{}).error().code, Errc::invalid_argument);
}

TEST(Stepper, KnowsTheNames) {
    EXPECT_EQ(syscall_name(SYS_openat), "openat");
    EXPECT_EQ(syscall_name(SYS_renameat2), "renameat2");
    EXPECT_EQ(syscall_name(99999), "syscall_99999");
}

} // namespace
