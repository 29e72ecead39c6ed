// Owners and waiters of every kind: oddly named, large, stopped, in a group that gets signals.
#include "slot/actor.hpp"
#include "sys/proc.hpp"

#include <algorithm>

namespace holdfast::slot_test {
namespace {

class Process : public SlotTest {};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int large_mb = 64; // a sanitizer multiplies it
#else
constexpr int large_mb = 1024;
#endif

TEST_F(Process, NamesWithBlanksAndParenthesesChangeNothing) {
    for (const char* name : {"a) b (c", ") R 1 1 1 1 1", "(", ")))", " "}) {
        Actor owner = actor("odd"), late = actor("odd"), next = actor("odd");
        ASSERT_EQ(owner.ask(std::string("name ") + name), "ok");
        ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
        ASSERT_EQ(owner.ask("ready"), "ok");
        std::string left = owner.ask("leftover");
        EXPECT_SAYS(late.ask("acquire refuse"), "error held ");
        owner.kill();
        auto info = query(slot("odd"));
        ASSERT_EQ(info->leftovers.size(), 1u) << name;
        EXPECT_EQ(std::to_string(info->leftovers[0].pid), left.substr(9));
        EXPECT_SAYS(next.ask("acquire replace grace=3600000"), "owned") << name;
    }
}

TEST_F(Process, ALargeOwnerIsReplacedWhenItsMemoryIsGone) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("ballast " + std::to_string(large_mb)), "ok");
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    ASSERT_EQ(owner.ask("ready"), "ok");
    EXPECT_EQ(next.ask("acquire replace grace=3600000"), "owned 2");
    EXPECT_FALSE(owner.child().alive() && look().owner_pid == owner.pid());
}

TEST_F(Process, ALargeWaiterIsNotCopied) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(next.ask("ballast " + std::to_string(large_mb)), "ok");
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    next.tell("acquire wait");
    ASSERT_TRUE(next.comes_to_wait());
    owner.kill();
    EXPECT_SAYS(next.hear(), "owned");
}

// A waiter that was stopped holds nothing of the slot: the next start goes past it.
TEST_F(Process, AStoppedWaiterKeepsNobodyOut) {
    Actor owner = actor(), waiter = actor(), next = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    waiter.tell("acquire wait");
    ASSERT_TRUE(waiter.comes_to_wait());
    waiter.signal(SIGSTOP);
    ASSERT_TRUE(waiter.reaches_state('T'));
    owner.kill();
    // What waits on its behalf has been told by now that life came free, and has ended.
    EXPECT_TRUE(harness::eventually(soon(), [&] {
        auto helpers = sys::children_of(waiter.pid());
        return std::all_of(helpers.begin(), helpers.end(), [](pid_t pid) {
            auto stat = sys::read_stat(pid);
            return !stat || stat->state == 'Z';
        });
    }));
    EXPECT_SAYS(next.ask("acquire refuse", 5000), "owned");
    waiter.signal(SIGCONT);
    EXPECT_FALSE(waiter.answers_within(100));
    next.kill();
    EXPECT_SAYS(waiter.hear(), "owned");
}

// What waits in the kernel on the host's behalf shares the host's memory, and must not run its signal
// handlers.
TEST_F(Process, ASignalToTheGroupIsHeardOnceByAWaiter) {
    Actor owner = actor(), waiter = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    ASSERT_EQ(waiter.ask("hear"), "ok");
    waiter.tell("acquire wait");
    ASSERT_TRUE(waiter.comes_to_wait());
    // The leader of the group is our own child, which has not been waited for: the number is its own.
    ASSERT_EQ(::kill(-waiter.pid(), SIGUSR1), 0);
    EXPECT_FALSE(waiter.answers_within(100));
    owner.kill();
    EXPECT_SAYS(waiter.hear(), "owned");
    EXPECT_EQ(waiter.ask("heard"), "heard 1 " + std::to_string(SIGUSR1));
}

// The descriptors of a killed owner must not live on in what waits on its behalf for another slot.
TEST_F(Process, AnOwnerThatWaitsForAnotherSlotIsGoneWhenItIsKilled) {
    Actor first = actor("b");
    ASSERT_SAYS(first.ask("acquire refuse"), "owned");
    for (int round = 0; round < 5; ++round) {
        Actor owner = actor("a"), next = actor("a");
        ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
        ASSERT_EQ(owner.ask("also-wait b"), "ok");
        owner.signal(SIGKILL);
        ASSERT_TRUE(owner.child().wait_ended(soon()));
        auto seen = query(slot("a"));
        ASSERT_TRUE(seen);
        EXPECT_NE(seen->state, SlotState::owned);
        EXPECT_SAYS(next.ask("acquire refuse", 5000), "owned");
    }
}

TEST_F(Process, AWaiterThatIsKilledLeavesNothingThatWaits) {
    Actor owner = actor(), waiter = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    waiter.tell("acquire wait");
    ASSERT_TRUE(waiter.comes_to_wait());
    waiter.kill();
    EXPECT_TRUE(harness::eventually(soon(), [&] {
        auto left = harness::marked_processes(mark_.token());
        return left.size() == 1; // the owner
    }));
}

} // namespace
} // namespace holdfast::slot_test
