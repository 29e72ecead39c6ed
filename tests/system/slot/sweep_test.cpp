// Ending the tree of a keeper that is gone or going: by mark and by lock, whatever the tree does meanwhile.
#include "slot/sweep.hpp"

#include "ending/mark.hpp"
#include "harness/holdfast_program.hpp"
#include "registry/entry.hpp"
#include "sys/proc.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace holdfast::slot_test {

using namespace std::chrono_literals;
using harness::Child;
using harness::Deadline;

class SweepTest : public ::testing::Test {
protected:
    // An entry whose host is gone, and whose keeper is this process.
    std::string leave_entry(const sys::PidFd& keeper) {
        base::HelperFacts facts;
        facts.label = "test";
        facts.keeper = sys::identify(keeper).value();
        auto entry = registry::Entry::create(directory, {"helper"}, {}, facts);
        EXPECT_TRUE(entry.has_value());
        entry->leave_behind();
        return entry->id();
    }
    // A process with the mark of `id` and none of our descriptors.
    Child start_marked(const std::string& id, std::vector<std::string> argv) const {
        harness::SpawnSpec spec;
        spec.argv = std::move(argv);
        spec.env = {home.mark().env(), std::string(ending::mark_variable) + "=" + id};
        spec.out = harness::Stdio::null;
        auto child = Child::spawn(spec);
        EXPECT_TRUE(child.has_value());
        return child ? std::move(*child) : Child();
    }
    static sys::PidFd pidfd_of(const Child& child) { return sys::PidFd::open(child.pid()).value(); }

    harness::HoldfastHome home;
    std::string directory = home.dir().file("helpers");
};

// A keeper's socket closes before the kernel says that it has ended. Whoever hears the one must not take the
// other for granted: a plain sweep leaves the tree to a keeper that lives, and that was how a tree once
// outlived its keeper.
TEST_F(SweepTest, G4TheTreeOfAKeeperThatIsStillThereIsEndedWithIt) {
    Child keeper = start_marked("none", {"/bin/sleep", "3600"});
    const std::string id = leave_entry(pidfd_of(keeper));
    Child daemon = start_marked(id, {"/bin/sleep", "3600"});
    slot::sweep(directory);
    EXPECT_TRUE(daemon.alive()) << "the control: a sweep leaves it to its keeper";
    EXPECT_TRUE(slot::end_left_behind(directory, id, pidfd_of(keeper)).empty());
    EXPECT_FALSE(daemon.alive());
    EXPECT_FALSE(keeper.alive());
    EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(SweepTest, ASweepTakesAKeeperThatWasJustKilledForDead) {
    Child keeper = start_marked("none", {"/bin/sleep", "3600"});
    const std::string id = leave_entry(pidfd_of(keeper));
    Child daemon = start_marked(id, {"/bin/sleep", "3600"});
    // Killed, and not waited for: it may be anywhere between the signal and its end.
    ASSERT_TRUE(keeper.signal(SIGKILL).has_value());
    slot::sweep(directory);
    EXPECT_FALSE(daemon.alive());
}

TEST_F(SweepTest, ThoseOfOtherEntriesAreLeftAlone) {
    Child keeper = start_marked("none", {"/bin/sleep", "3600"});
    const std::string id = leave_entry(pidfd_of(keeper));
    Child other = start_marked("0123456789ab", {"/bin/sleep", "3600"});
    EXPECT_TRUE(slot::end_left_behind(directory, id, pidfd_of(keeper)).empty());
    EXPECT_TRUE(other.alive());
}

// They replace themselves all the time, so that one look in many finds no environment; and some fork all the
// time.
TEST_F(SweepTest, G4WhoIsAlwaysInTheMiddleOfAnExecOrAForkIsEndedToo) {
    const std::string again = R"(trap "" TERM; exec /bin/sh -c "$0" "$0")";
    const std::string forks = R"(trap "" TERM; while :; do /bin/true; done)";
    for (int round = 0; round < 3; ++round) {
        Child keeper = start_marked("none", {"/bin/sleep", "3600"});
        const std::string id = leave_entry(pidfd_of(keeper));
        std::vector<Child> tree;
        for (int i = 0; i < 3; ++i)
            tree.push_back(start_marked(id, {"/bin/sh", "-c", again, again}));
        tree.push_back(start_marked(id, {"/bin/sh", "-c", forks}));
        EXPECT_TRUE(slot::end_left_behind(directory, id, pidfd_of(keeper)).empty());
        for (const Child& child : tree)
            EXPECT_FALSE(child.alive());
    }
    EXPECT_TRUE(home.mark().survivors(Deadline::in(10s)).empty());
}

} // namespace holdfast::slot_test
