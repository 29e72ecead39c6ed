// G7 patience: who starts and moves is left alone; who stands still is replaced in bounded time. The field's
// case, scaled: a database that takes long to open, starters that arrive all the time under replace, each
// with less patience than the opening takes.
#include "slot/actor.hpp"

#include <chrono>
#include <list>
#include <thread>

namespace holdfast::slot_test {
namespace {

class Patience : public SlotTest {};
// Long enough that a busy machine, which paces the owner's progress late, is not taken for a stall.
constexpr auto stall = std::chrono::milliseconds(4000);

TEST_F(Patience, ASlowStartWithProgressSurvivesEveryStarter) {
    Actor owner = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    auto began = std::chrono::steady_clock::now();
    std::list<Actor> starters;
    // Half as long again as the patience of whoever came first.
    for (int step = 1; std::chrono::steady_clock::now() - began < 3 * stall / 2; ++step) {
        ASSERT_EQ(owner.ask("progress " + std::to_string(step)), "ok");
        if (step % 20 == 1) {
            starters.push_back(actor());
            starters.back().tell("acquire replace stall=" + std::to_string(stall.count()) + " grace=100");
        }
        std::this_thread::sleep_for(
            std::chrono::milliseconds(20)); // the pace of the opening, not a wait for anything
    }
    EXPECT_GT(starters.size(), 3u);
    for (Actor& starter : starters)
        EXPECT_FALSE(starter.answers_within(0));
    EXPECT_TRUE(owner.child().alive());
    EXPECT_EQ(look().epoch, 1u); // one start
    EXPECT_EQ(look().owner_pid, owner.pid());
}

// The negative control: the same owner, and its progress stands still.
TEST_F(Patience, OneThatStallsIsReplacedInBoundedTime) {
    Actor owner = actor(), starter = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    auto began = std::chrono::steady_clock::now(); // before the owner's own stamp, from which patience counts
    ASSERT_EQ(owner.ask("progress 7"), "ok");
    starter.tell("acquire replace stall=400 grace=100");
    ASSERT_EQ(owner.ask("progress 7"), "ok"); // the same number again is no progress
    EXPECT_EQ(starter.hear(10'000), "owned 2");
    auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(took, std::chrono::milliseconds(400));
    EXPECT_TRUE(owner.child().wait(soon())->killed_by(SIGTERM));
}

TEST_F(Patience, TheStarterActsAtOnceWhenTheOwnerSaysReady) {
    Actor owner = actor(), starter = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    starter.tell("acquire replace stall=3600000");
    EXPECT_FALSE(starter.answers_within(100));
    owner.tell("ready"); // its answer may come after its end
    EXPECT_EQ(starter.hear(10'000), "owned 2");
}

TEST_F(Patience, MoreCanBeAskedForEvenMoreThanAnHour) {
    for (const char* much : {"extend 60000", "extend 86400000"}) {
        std::string name = std::string("x") + (much + 7);
        Actor owner = actor(name), starter = actor(name);
        ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
        ASSERT_EQ(owner.ask(much), "ok");
        starter.tell("acquire replace stall=50 grace=50");
        EXPECT_FALSE(starter.answers_within(300)) << much;
        EXPECT_TRUE(owner.child().alive()) << much;
        owner.tell("ready");
        EXPECT_EQ(starter.hear(), "owned 2");
    }
}

TEST_F(Patience, AStarterWithADeadlineLeavesAPatientOwnerAlone) {
    Actor owner = actor(), starter = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    EXPECT_SAYS(starter.ask("acquire replace stall=3600000 wait=100"), "error timed_out ");
    EXPECT_TRUE(owner.child().alive());
}

} // namespace
} // namespace holdfast::slot_test
