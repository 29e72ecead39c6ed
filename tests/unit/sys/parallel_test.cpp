// Ranges that several threads work on: together all of it, nothing twice, and no thread for little.
#include "sys/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace holdfast::sys {
namespace {

TEST(Parallel, EveryPieceOnce) {
    for (std::size_t n : {0U, 1U, 2U, 3U, 5U, 199U, 200U, 1000U}) {
        std::vector<std::atomic<int>> done(n);
        in_parallel(n, 2, [&](std::size_t first, std::size_t last) {
            for (; first < last; ++first)
                ++done[first];
        });
        for (std::size_t i = 0; i < n; ++i)
            EXPECT_EQ(done[i], 1) << i << " of " << n;
    }
}

TEST(Parallel, LittleIsDoneHere) {
    int calls = 0;
    const auto here = std::this_thread::get_id();
    in_parallel(199, 200, [&](std::size_t first, std::size_t last) {
        ++calls;
        EXPECT_EQ(first, 0U);
        EXPECT_EQ(last, 199U);
        EXPECT_EQ(std::this_thread::get_id(), here);
    });
    EXPECT_EQ(calls, 1);
}

// A host's signal handler must not run on a thread that the host knows nothing of.
TEST(Parallel, OtherThreadsHearNoSignals) {
    if (std::thread::hardware_concurrency() < 2)
        GTEST_SKIP() << "one processor: there are no other threads";
    const auto here = std::this_thread::get_id();
    std::atomic<int> others = 0, deaf = 0;
    in_parallel(2, 2, [&](std::size_t, std::size_t) {
        if (std::this_thread::get_id() == here)
            return;
        ++others;
        sigset_t blocked;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        deaf += ::sigismember(&blocked, SIGTERM) == 1 && ::sigismember(&blocked, SIGUSR1) == 1 ? 1 : 0;
    });
    EXPECT_EQ(others, 1);
    EXPECT_EQ(deaf, 1);
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(::sigismember(&blocked, SIGTERM), 0) << "ours are as they were";
}

} // namespace
} // namespace holdfast::sys
