// Several threads of one process at one slot. The kernel's POSIX locks do not tell them apart, so the library
// must.
#include "slot/actor.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <thread>

namespace holdfast::slot_test {
namespace {

class Threads : public SlotTest {};
constexpr int many = 8;

TEST_F(Threads, OneOwnsAtATimeAndHeldIsOnlySaidOfAnOwner) {
    for (IfHeld policy : {IfHeld::refuse, IfHeld::attach, IfHeld::wait})
        for (int round = 0; round < 25; ++round) {
            std::atomic<int> in_owner = 0, owned = 0, told = 0, wrong = 0;
            std::barrier start(many), decided(many);
            std::vector<std::jthread> threads;
            for (int i = 0; i < many; ++i)
                threads.emplace_back([&] {
                    start.arrive_and_wait();
                    auto got = acquire(slot(), {.if_held = policy});
                    if (got && got->ownership) {
                        wrong += ++in_owner != 1;
                        ++owned;
                        if (policy == IfHeld::wait) {
                            --in_owner;
                            got->ownership->release();
                        }
                    } else if (got) {
                        ++told;
                        wrong += got->attached_to.owner_pid != ::getpid();
                    } else if (got.error().code == Errc::held) {
                        ++told;
                        wrong += got.error().message.find("process " + std::to_string(::getpid())) ==
                                 std::string::npos;
                    } else {
                        ++wrong;
                    }
                    decided.arrive_and_wait(); // an owner stays until all have their answer
                });
            threads.clear();
            EXPECT_EQ(wrong, 0);
            EXPECT_EQ(owned, policy == IfHeld::wait ? many : 1);
            EXPECT_EQ(told, policy == IfHeld::wait ? 0 : many - 1);
        }
}

TEST_F(Threads, LookingFromTheOwnersProcessDoesNotDropItsLock) {
    auto got = acquire(slot(), {});
    ASSERT_TRUE(got && got->ownership);
    std::vector<std::jthread> readers;
    for (int i = 0; i < 4; ++i)
        readers.emplace_back([&] {
            for (int look = 0; look < 200; ++look) {
                EXPECT_EQ(query(slot())->owner_pid, ::getpid());
                EXPECT_EQ(list_slots(directory())->size(), 1u);
                EXPECT_FALSE(acquire(slot(), {.if_held = IfHeld::refuse}));
            }
        });
    readers.clear();
    Actor outside = actor();
    EXPECT_SAYS(outside.ask("acquire refuse"), "error held ");
    EXPECT_SAYS(outside.ask("query"), "owned pid=" + std::to_string(::getpid()));
}

// More of them than processors, so that some stand still in the middle of a look when an owner begins: what
// they close afterwards must not be a descriptor of the owner's file.
TEST_F(Threads, ALookThatBeganBeforeTheOwnerDoesNotDropItsLock) {
    ASSERT_TRUE(acquire(slot(), {})); // the file is there
    std::atomic<bool> enough = false;
    std::atomic<std::uint64_t> looks = 0;
    std::vector<std::jthread> lookers;
    for (unsigned i = 0; i < 4 + 2 * std::thread::hardware_concurrency(); ++i)
        lookers.emplace_back([&] {
            for (; !enough; ++looks)
                (void)query(slot());
        });
    // Before they are joined, however the test ends.
    const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> end(
        &enough, [](auto* flag) { *flag = true; });
    Actor outside = actor();
    for (int round = 0; round < 60; ++round) {
        auto got = acquire(slot(), {});
        ASSERT_TRUE(got && got->ownership);
        // Everybody who was in the middle of a look has finished it by now, or nearly so.
        for (const std::uint64_t now = looks; looks < now + 4 * lookers.size();)
            std::this_thread::yield();
        ASSERT_SAYS(outside.ask("query"), "owned pid=" + std::to_string(::getpid())) << "round " << round;
    }
}

TEST_F(Threads, ReplaceOfOneselfIsRefused) {
    auto got = acquire(slot(), {});
    ASSERT_TRUE(got && got->ownership);
    auto again = acquire(slot(), {.if_held = IfHeld::replace});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Errc::held);
    auto stop = stop_slot(slot(), {});
    ASSERT_FALSE(stop);
    EXPECT_EQ(stop.error().code, Errc::held);
    EXPECT_TRUE(got->ownership->still_mine());
}

TEST_F(Threads, WaitingCanBeCancelledBehindAnotherProcessAndBehindAnotherThread) {
    int cancel = ::eventfd(0, EFD_CLOEXEC);
    for (bool own : {false, true}) {
        Actor outside = actor();
        std::optional<Ownership> inside;
        if (own)
            inside = std::move(acquire(slot(), {})->ownership);
        else
            ASSERT_SAYS(outside.ask("acquire refuse"), "owned");
        std::jthread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            std::uint64_t one = 1;
            EXPECT_EQ(::write(cancel, &one, sizeof one), 8);
        });
        auto got = acquire(
            slot(), {.if_held = IfHeld::wait, .wait = test::patient(Millis{10'000}), .cancel_fd = cancel});
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code, Errc::cancelled) << own << got.error().message;
        later.join();
        std::uint64_t count = 0;
        EXPECT_EQ(::read(cancel, &count, sizeof count), 8);
    }
    ::close(cancel);
}

TEST_F(Threads, AWaitBehindAnotherThreadEndsWithItsTime) {
    auto got = acquire(slot(), {});
    ASSERT_TRUE(got && got->ownership);
    auto late = acquire(slot(), {.if_held = IfHeld::wait, .wait = Millis{120}});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Errc::timed_out);
}

} // namespace
} // namespace holdfast::slot_test
