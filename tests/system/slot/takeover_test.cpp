// G3 right target, G8 no ping-pong: replace.
#include "records/record.hpp"
#include "slot/actor.hpp"

#include <chrono>

namespace holdfast::slot_test {
namespace {

class Takeover : public SlotTest {};

TEST_F(Takeover, AReadyOwnerIsAskedAndReplaced) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(owner.ask("ready"), "ok");
    EXPECT_EQ(next.ask("acquire replace"), "owned 2");
    EXPECT_TRUE(owner.child().wait(soon())->killed_by(SIGTERM));
}

TEST_F(Takeover, AStoppedOwnerIsReplacedWithoutKill) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(owner.ask("ready"), "ok");
    owner.signal(SIGSTOP);
    ASSERT_TRUE(owner.reaches_state('T'));
    EXPECT_EQ(next.ask("acquire replace grace=3600000"),
              "owned 2"); // long before the grace is over: TERM and CONT
    EXPECT_TRUE(owner.child().wait(soon())->killed_by(SIGTERM));
}

TEST_F(Takeover, OneThatIgnoresTermIsKilledAfterItsGrace) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(owner.ask("ready"), "ok");
    ASSERT_EQ(owner.ask("ignore-term"), "ok");
    auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(next.ask("acquire replace grace=200"), "owned 2");
    EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(200));
    EXPECT_TRUE(owner.child().wait(soon())->killed_by(SIGKILL));
}

TEST_F(Takeover, TheSixthWithinAMinuteIsRefusedWithAMessage) {
    std::vector<Actor> owners;
    for (int epoch = 1; epoch <= 1 + max_takeovers; ++epoch) {
        owners.push_back(actor());
        ASSERT_EQ(owners.back().ask("acquire replace"), "owned " + std::to_string(epoch));
        ASSERT_EQ(owners.back().ask("ready"), "ok");
    }
    Actor sixth = actor();
    std::string answer = sixth.ask("acquire replace");
    EXPECT_SAYS(answer, "error too_many_takeovers ");
    EXPECT_NE(answer.find("5 times within 60 s"), std::string::npos) << answer;
    EXPECT_TRUE(owners.back().child().alive());
    EXPECT_EQ(look().owner_pid, owners.back().pid());
    // Only takeovers count: a plain start after a release is not one.
    EXPECT_EQ(owners.back().ask("release"), "ok");
    EXPECT_SAYS(sixth.ask("acquire replace"), "owned");
}

TEST_F(Takeover, OfTwoThatMeantOneEpochOneWinsAndTheOtherLeavesTheNewOneAlone) {
    for (int round = 0; round < 3; ++round) {
        std::string name = "pair" + std::to_string(round);
        Actor owner = actor(name), a = actor(name), b = actor(name);
        ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
        ASSERT_EQ(owner.ask("ready"), "ok");
        ASSERT_EQ(owner.ask("ignore-term"), "ok"); // so both stand there, having asked, when it is killed
        ASSERT_EQ(a.ask("hear"), "ok");
        ASSERT_EQ(b.ask("hear"), "ok");
        a.tell("acquire replace grace=250");
        b.tell("acquire replace grace=250");
        std::string first = a.hear(), second = b.hear();
        Actor& winner = first == "owned 2" ? a : b;
        Actor& other = first == "owned 2" ? b : a;
        EXPECT_EQ(&winner == &a ? first : second, "owned 2");
        EXPECT_SAYS(&winner == &a ? second : first, "error superseded ");
        EXPECT_EQ(winner.ask("heard"), "heard 0 0");
        EXPECT_EQ(other.ask("heard"), "heard 0 0");
        EXPECT_EQ(query(slot(name))->owner_pid, winner.pid());
    }
}

// A starter that was caught between two steps of taking the slot is not its predecessor, whatever can be seen
// of it.
TEST_F(Takeover, AStarterInTheMiddleOfTakingIsNotSignalledForItsPredecessor) {
    for (const char* point : {"epoch_write", "record_rename"}) {
        std::string name = std::string("mid-") + (point[0] == 'e' ? "epoch" : "record");
        Actor owner = actor(name), patient = actor(name), next = actor(name);
        ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
        ASSERT_EQ(next.ask("hear"), "ok");
        patient.tell(
            "acquire replace stall=3600000 grace=100"); // the owner is starting: it waits, meaning epoch 1
        ASSERT_TRUE(patient.comes_to_wait());
        ASSERT_EQ(next.ask(std::string("freeze-at ") + point), "ok");
        patient.signal(SIGSTOP);
        ASSERT_TRUE(patient.reaches_state('T'));
        next.tell("acquire wait");
        ASSERT_TRUE(next.comes_to_wait());
        ASSERT_EQ(owner.ask("ready"), "ok"); // its last word would allow a takeover
        owner.kill();
        ASSERT_TRUE(next.reaches_state('T')); // frozen inside, with whatever it has taken so far
        patient.signal(SIGCONT);
        (void)patient.answers_within(300); // more than the grace: time enough to do the wrong thing
        next.signal(SIGCONT);
        EXPECT_EQ(next.hear(), "owned 2");
        EXPECT_SAYS(patient.hear(), "error superseded ");
        EXPECT_EQ(next.ask("heard"), "heard 0 0");
        EXPECT_EQ(query(slot(name))->owner_pid, next.pid());
    }
}

// The owner dies after it was seen and before it is signalled, and leaves a child that holds life.
TEST_F(Takeover, AnOwnerThatDiesJustThenLeavesLeftoversThatAreEnded) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(owner.ask("ready"), "ok");
    ASSERT_SAYS(owner.ask("leftover"), "leftover ");
    ASSERT_EQ(next.ask("freeze-at pidfd_open"), "ok");
    next.tell("acquire replace grace=5000");
    ASSERT_TRUE(next.reaches_state('T'));
    owner.kill();
    next.signal(SIGCONT);
    EXPECT_EQ(next.hear(), "owned 2");
}

// An owner that lets go is its own leftover for an instant, unless it does so inside the door.
TEST_F(Takeover, AnOwnerThatIsReleasingIsNotEndedAsALeftover) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(owner.ask("ready"), "ok");
    ASSERT_EQ(owner.ask("hear"), "ok");
    ASSERT_EQ(owner.ask("freeze-at lock_close"), "ok");
    owner.tell("release");
    ASSERT_TRUE(owner.reaches_state('T'));
    next.tell("acquire replace grace=100");
    EXPECT_FALSE(next.answers_within(300));
    owner.signal(SIGCONT);
    EXPECT_EQ(owner.hear(), "ok");
    EXPECT_EQ(next.hear(), "owned 2");
    EXPECT_EQ(owner.ask("heard"), "heard 0 0");
}

TEST_F(Takeover, ReplaceBecomesTheOwnerOfAFreeSlotAndIsNoTakeover) {
    Actor one = actor();
    EXPECT_EQ(one.ask("acquire replace"), "owned 1");
    auto record = records::record_from_json(harness::read_file(directory() + "/slot.json").value());
    ASSERT_TRUE(record);
    EXPECT_TRUE(record->takeovers.empty());
}

} // namespace
} // namespace holdfast::slot_test
