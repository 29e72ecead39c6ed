// Every (step, seen) cell of the protocol's table is run by real processes: what the tests of this program
// lead through is written down by each contender, and compared with the table at the end.
#include "core/slot_protocol.hpp"
#include "harness/pidfd.hpp"
#include "records/record.hpp"
#include "slot/actor.hpp"
#include "sys/clock.hpp"
#include "sys/whole_file.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

namespace holdfast::slot_test {
namespace {

class EveryCell : public ::testing::Environment {
public:
    void SetUp() override {
        ASSERT_TRUE(harness::write_file(file(), ""));
        ::setenv("HOLDFAST_CELLS", file().c_str(), 1);
    }
    void TearDown() override {
        if (::testing::GTEST_FLAG(filter) != "*" || ::testing::GTEST_FLAG(repeat) != 1)
            return; // a choice of tests leads through a choice of cells
        std::set<std::string> run;
        std::istringstream lines(harness::read_file(file()).value_or(""));
        for (std::string line; std::getline(lines, line);)
            run.insert(line);
        for (std::size_t step = 0; step < core::step_count; ++step)
            for (std::size_t seen = 0; seen < core::seen_count; ++seen) {
                const auto at = static_cast<core::SlotStep>(step);
                const auto what = static_cast<core::Seen>(seen);
                const std::string cell = std::string(name_of(at)) + " " + std::string(name_of(what));
                if (core::protocol_step(at, what).effect != core::Do::never && !not_run.contains(cell)) {
                    EXPECT_TRUE(run.contains(cell)) << "no test leads through: " << cell;
                }
            }
    }

private:
    [[nodiscard]] std::string file() const { return directory_.file("cells"); }
    const std::set<std::string> not_run{
        // Steps in which nothing but the owner's end, or a timer with a name of its own, makes one look: the
        // table answers for the instant in which the owner that was asked is not the one that is found.
        "leftovers time_to_look", "asked owner_patient", "asked owner_may_be_asked", "asked owner_stalled",
        "asked owner_forbidden", "asked deadline", "killed owner_patient", "killed owner_may_be_asked",
        "killed owner_stalled", "killed owner_forbidden",
        // After KILL the owner's end and its lock are heard within microseconds, in any order.
        "killed life_free", "killed owner_newer",
        // A process that KILL does not end cannot be made here.
        "killed deadline"};
    harness::TempDir directory_;
};

[[maybe_unused]] const auto* const every_cell = ::testing::AddGlobalTestEnvironment(new EveryCell);

class Cells : public SlotTest {
protected:
    // The tiny process that waits for a lock on a contender's behalf, stopped: its news does not come before
    // all else then.
    static sys::Fd stop_waiter_of(const Actor& contender) {
        sys::Fd found;
        EXPECT_TRUE(harness::eventually(soon(), [&] {
            for (const auto& process : harness::descendants(contender.pid()))
                if (auto pidfd = harness::open_pidfd(process.pid)) {
                    found = std::move(*pidfd);
                    (void)harness::pidfd_signal(found.get(), SIGSTOP);
                    return harness::eventually(soon(), [&] {
                        auto info = harness::inspect(process.pid);
                        return info && info->state == 'T';
                    });
                }
            return false;
        }));
        return found;
    }
    void freeze_at(Actor& one, const std::string& point, const std::string& then) {
        ASSERT_EQ(one.ask("freeze-at " + point), "ok");
        one.tell(then);
        ASSERT_TRUE(one.reaches_state('T'));
    }
};

TEST_F(Cells, TheDoorDoesNotOpenInTime) {
    Actor inside = actor(), next = actor();
    freeze_at(inside, "epoch_write", "acquire refuse");
    EXPECT_SAYS(next.ask("acquire refuse wait=100"), "error timed_out ");
    inside.signal(SIGCONT);
    EXPECT_EQ(inside.hear(), "owned 1");
}

TEST_F(Cells, TheFileIsAnotherBehindTheDoor) {
    Actor inside = actor(), next = actor();
    freeze_at(inside, "epoch_write", "acquire refuse");
    next.tell("acquire refuse");
    ASSERT_TRUE(harness::eventually(soon(), [&] { return !harness::descendants(next.pid()).empty(); }));
    std::filesystem::remove(directory() + "/slot.lock");
    inside.signal(SIGCONT);
    EXPECT_EQ(inside.hear(), "owned 1");
    EXPECT_SAYS(next.hear(), "owned "); // of the new file; the other learns from still_mine() that it lost
    EXPECT_SAYS(inside.ask("still-mine"), "error lost");
}

TEST_F(Cells, AnOwnerThatHasStoodStillLongEnoughWhenItIsFound) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    EXPECT_EQ(next.ask("acquire replace stall=0"), "owned 2");
}

TEST_F(Cells, LeftoversAreWaitedForAskedAndKilled) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_SAYS(owner.ask("leftover ignore"), "leftover ");
    owner.kill();
    EXPECT_SAYS(next.ask("acquire refuse wait=50"), "error orphaned ");
    EXPECT_EQ(next.ask("acquire replace grace=50"), "owned 2");
}

// Once they were asked, the stated time is theirs: --wait does not cut their grace short.
TEST_F(Cells, TimeDoesNotRunOutWhileLeftoversHaveTheirGrace) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_SAYS(owner.ask("leftover ignore"), "leftover ");
    owner.kill();
    EXPECT_EQ(next.ask("acquire replace wait=50 grace=300"), "owned 2");
}

TEST_F(Cells, LifeThatIsHeldWhereNobodySeesItIsGivenUpOn) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_SAYS(owner.ask("hide-life"), "hidden ");
    owner.kill();
    EXPECT_SAYS(next.ask("acquire replace grace=50 patience=100"), "error orphaned ");
}

TEST_F(Cells, LifeThatIsStillHeldWhenAllThatWereKilledAreGoneIsLookedForAgain) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    const std::string hidden = owner.ask("hide-life");
    ASSERT_SAYS(hidden, "hidden ");
    ASSERT_SAYS(owner.ask("leftover ignore"), "leftover ");
    owner.kill();
    auto keeper = harness::open_pidfd(std::atoi(hidden.c_str() + 7));
    ASSERT_TRUE(keeper);
    next.tell("acquire replace grace=50 unseen=60000");
    ASSERT_TRUE(
        harness::eventually(soon(), [&] { return look().leftovers.empty(); })); // the one that is seen
    EXPECT_FALSE(next.answers_within(100));
    (void)harness::pidfd_signal(keeper->get(), SIGKILL);
    EXPECT_EQ(next.hear(), "owned 2");
}

TEST_F(Cells, APatientContenderFindsANewerOwner) {
    Actor owner = actor(), patient = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(next.ask("hear"), "ok");
    patient.tell("acquire replace stall=3600000");
    sys::Fd waiter = stop_waiter_of(patient);
    patient.signal(SIGSTOP);
    ASSERT_TRUE(patient.reaches_state('T'));
    owner.kill();
    ASSERT_EQ(next.ask("acquire wait"), "owned 2"); // its record is the news
    patient.signal(SIGCONT);
    EXPECT_SAYS(patient.hear(), "error superseded ");
    EXPECT_EQ(next.ask("heard"), "heard 0 0");
}

// Nothing but the lock tells it: no word of the owner, nor its end, no time that is up.
TEST_F(Cells, APatientContenderIsGrantedTheLifeOfAnOwnerThatLetsGo) {
    Actor owner = actor(), patient = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    patient.tell("acquire replace stall=3600000");
    const std::string call = "/proc/" + std::to_string(patient.pid()) + "/syscall";
    ASSERT_TRUE(harness::eventually(soon(), [&] {
        return harness::read_file(call).value_or("").starts_with(std::to_string(SYS_poll) + " ");
    })) << "it waits in poll, and nowhere else";
    ASSERT_EQ(owner.ask("release"), "ok");
    EXPECT_EQ(patient.hear(), "owned 2");
}

TEST_F(Cells, APatientContenderFindsNobody) {
    Actor owner = actor(), patient = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    patient.tell("acquire replace stall=1000");
    sys::Fd waiter = stop_waiter_of(patient);
    owner.kill();
    EXPECT_EQ(patient.hear(), "owned 2"); // when it looks for a stall
}

TEST_F(Cells, APatientContenderFindsAnOwnerThatWasTakenOverTooOften) {
    Actor owner = actor(), patient = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    patient.tell("acquire replace stall=3600000");
    EXPECT_FALSE(patient.answers_within(50));
    auto record = records::record_from_json(harness::read_file(directory() + "/slot.json").value());
    ASSERT_TRUE(record);
    record->takeovers.assign(static_cast<std::size_t>(max_takeovers), sys::boottime_ms());
    ASSERT_TRUE(sys::rewrite_whole(directory() + "/slot.json", records::to_json(*record)));
    EXPECT_SAYS(patient.hear(), "error too_many_takeovers ");
    EXPECT_TRUE(owner.child().alive());
}

TEST_F(Cells, AnOwnerThatWasAskedLetsGoAndLivesOn) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(owner.ask("hear"), "ok");
    ASSERT_EQ(owner.ask("ready"), "ok");
    next.tell("acquire replace grace=3600000");
    ASSERT_TRUE(harness::eventually(soon(), [&] { return owner.ask("heard") == "heard 1 15"; }));
    ASSERT_EQ(owner.ask("release"), "ok");
    EXPECT_EQ(next.hear(), "owned 2");
}

// The owner's end is heard, and the lock is not; nobody is there, or somebody else already.
TEST_F(Cells, AnOwnerThatWasAskedOrKilledIsGone) {
    for (bool killed : {false, true})
        for (bool newer : {false, true}) {
            if (killed && newer)
                continue; // nothing holds a contender between its KILL and its next look
            const std::string name = std::string(killed ? "killed" : "asked") + (newer ? "-newer" : "-gone");
            Actor owner = actor(name), asking = actor(name), next = actor(name);
            ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
            ASSERT_EQ(owner.ask("hear"), "ok");
            ASSERT_EQ(owner.ask("ready"), "ok");
            asking.tell(std::string("acquire replace grace=") + (killed ? "1500" : "60000"));
            ASSERT_TRUE(harness::eventually(soon(), [&] { return owner.ask("heard") == "heard 1 15"; }));
            sys::Fd waiter = stop_waiter_of(asking);
            if (newer) {
                asking.signal(SIGSTOP);
                ASSERT_TRUE(asking.reaches_state('T'));
            }
            if (!killed)
                owner.kill();
            if (newer) {
                ASSERT_EQ(next.ask("acquire wait"), "owned 2");
                asking.signal(SIGCONT);
            }
            EXPECT_SAYS(asking.hear(), newer ? "error superseded " : "owned 2");
        }
}

} // namespace
} // namespace holdfast::slot_test
