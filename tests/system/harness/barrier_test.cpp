#include "harness/barrier.hpp"
#include "harness/child.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace holdfast::harness;
using namespace std::chrono_literals;

namespace {

// Forks `count` processes that run `body(i)` and leave with its answer; true when all answered 0.
template <class Body>
bool all_succeed(int count, Body body) {
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0)
            ::_exit(body(i));
        children.push_back(pid);
    }
    bool good = true;
    for (const pid_t pid : children) {
        int status = 0;
        good = ::waitpid(pid, &status, 0) == pid && status == 0 && good;
    }
    return good;
}

TEST(Barrier, NobodyPassesBeforeTheLastHasCome) {
    constexpr int parties = 8;
    constexpr int rounds = 500;
    auto barrier = Barrier::create(parties);
    ASSERT_TRUE(barrier);
    auto* counter = static_cast<std::atomic<int>*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(counter), MAP_FAILED);
    EXPECT_TRUE(all_succeed(parties, [&](int) {
        for (int round = 0; round < rounds; ++round) {
            counter->fetch_add(1);
            if (!barrier->arrive(Deadline::in(20s)))
                return 1;
            if (counter->load() < (round + 1) * parties) // somebody is still on the other side
                return 2;
            if (!barrier->arrive(Deadline::in(20s)))
                return 3;
        }
        return 0;
    }));
    EXPECT_EQ(counter->load(), parties * rounds);
    ::munmap(counter, 4096);
}

// On a machine that does other work a round may be stretched to any length, so the bound is for the best
// tenth of the rounds: they show what the barrier itself does. Idle, the median is some microseconds too.
TEST(Barrier, TwoProcessesStartWithinMicroseconds) {
    if (std::thread::hardware_concurrency() < 2)
        GTEST_SKIP() << "one processor: they can only start one after the other";
    constexpr int rounds = 400;
    auto barrier = Barrier::create(2);
    ASSERT_TRUE(barrier);
    using Stamp = Deadline::Clock::time_point;
    const std::size_t size = sizeof(Stamp) * 2 * rounds;
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* stamps = static_cast<Stamp*>(memory);
    ASSERT_TRUE(all_succeed(2, [&](int who) {
        if (!pin_to_processor(static_cast<unsigned>(who)))
            return 2;
        for (int round = 0; round < rounds; ++round) {
            if (!barrier->arrive(Deadline::in(20s)))
                return 1;
            stamps[2 * round + who] = Deadline::Clock::now();
        }
        return 0;
    }));
    std::vector<long long> apart;
    for (int round = 0; round < rounds; ++round)
        apart.push_back(std::abs((stamps[2 * round] - stamps[2 * round + 1]).count()));
    std::sort(apart.begin(), apart.end());
    RecordProperty("tenth_ns", static_cast<int>(apart[rounds / 10]));
    RecordProperty("median_ns", static_cast<int>(apart[rounds / 2]));
    EXPECT_LT(apart[rounds / 10], 100'000) << "ns apart; median " << apart[rounds / 2];
    ::munmap(memory, size);
}

TEST(Barrier, AMissingPartyBreaksItForEverybodyInsteadOfHanging) {
    auto barrier = Barrier::create(3);
    ASSERT_TRUE(barrier);
    EXPECT_TRUE(all_succeed(2, [&](int who) {
        // The third never comes. One runs out of time, the other, more patient, is told.
        const auto result = barrier->arrive(who == 0 ? Deadline::exactly(50ms) : Deadline::in(20s));
        return !result && result.error().code == (who == 0 ? Errc::timed_out : Errc::closed) ? 0 : 1;
    }));
    EXPECT_EQ(barrier->arrive(Deadline::in(1s)).error().code, Errc::closed);
}

TEST(Barrier, WorksThroughAnInheritedDescriptor) {
    auto barrier = Barrier::create(2);
    ASSERT_TRUE(barrier);
    EXPECT_TRUE(all_succeed(2, [&](int) {
        auto adopted = Barrier::adopt(sys::Fd(::dup(barrier->fd())));
        return adopted && adopted->parties() == 2 && adopted->arrive(Deadline::in(20s)) ? 0 : 1;
    }));
}

} // namespace
