// Many threads, many times: whatever the interleaving of hold, release, kill and respawn, there is never a
// second helper, and in the end there is none.
#include "supervise/fixture.hpp"

#include <atomic>
#include <barrier>
#include <dirent.h>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <thread>

namespace holdfast::supervise_test {

namespace {

std::size_t entries_of(const char* directory) {
    std::size_t count = 0;
    DIR* open = ::opendir(directory);
    while (::readdir(open) != nullptr)
        ++count;
    ::closedir(open);
    return count;
}

long resident_kb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:"))
            return std::atol(line.c_str() + 6);
    return 0;
}

int trials() {
    const char* given = std::getenv("HOLDFAST_TRIALS"); // fewer under a sanitizer: see CMakeLists.txt
    return given != nullptr ? std::atoi(given) : 3000;
}

} // namespace

class SupervisorStorm : public SupervisorTest {};

TEST_F(SupervisorStorm, G5G6HoldReleaseAndKillFromSixteenThreads) {
    Supervisor supervisor = make();
    const std::string exclusive = home.dir().file("exclusive");
    HelperSpec spec = helper({"--exclusive=" + exclusive});
    spec.respawn.max_failures = 0;
    spec.respawn.initial = 1ms;
    spec.respawn.max = 2ms;
    constexpr int parties = 16;
    const int rounds = trials();
    std::barrier start(parties);
    std::barrier end(parties);
    std::atomic<int> answered = 0;
    std::atomic<int> failed_otherwise = 0;
    std::atomic<int> left_over = 0;
    const auto run = [&](unsigned index) {
        std::mt19937 dice(index * 7919 + 13);
        for (int round = 0; round < rounds; ++round) {
            start.arrive_and_wait();
            for (unsigned step = 0; step < 1 + dice() % 2; ++step) {
                auto hold = supervisor.hold(spec);
                if (!hold) {
                    ++failed_otherwise;
                    continue;
                }
                switch (dice() % 4) {
                case 0:
                    break; // dropped at once
                case 1: {
                    const auto reply = hold->request("echo", "[]", {.timeout = patient(20s)});
                    if (reply)
                        ++answered;
                    else if (reply.error().code != Errc::closed)
                        ++failed_otherwise;
                    break;
                }
                case 2:
                    static_cast<void>(hold->notify("crash"));
                    break;
                case 3: {
                    const int pid = hold->status().pid;
                    auto process = pid > 0 ? harness::open_pidfd(pid) : fail(Errc::not_found, "");
                    // Its number may have been given away since: only a process that carries our token is
                    // ours to kill.
                    const auto seen = harness::inspect(pid);
                    if (process && seen && seen->cmdline.find(home.mark().token()) != std::string::npos)
                        harness::pidfd_signal(process->get(), SIGKILL);
                    break;
                }
                }
            }
            end.arrive_and_wait();
            if (index != 0)
                continue;
            const auto at_rest = [&] {
                const auto status = supervisor.status();
                return !status.empty() && status[0].second.state == HelperState::idle &&
                       status[0].second.holds == 0;
            };
            if (!harness::eventually(Deadline::in(20s), at_rest))
                ++left_over;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < parties; ++i)
        threads.emplace_back(run, i);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(left_over, 0);
    EXPECT_EQ(failed_otherwise, 0);
    EXPECT_GT(answered, rounds); // several ask in each round: most are answered, or this would show nothing
    EXPECT_FALSE(harness::read_file(exclusive + ".overlap").has_value())
        << "two helpers lived at the same time";
    expect_nothing_left();
}

// Negative control of the overlap detector: two helpers of different keys on the same file are seen.
TEST_F(SupervisorStorm, TwoHelpersAtATimeWouldBeSeen) {
    Supervisor supervisor = make();
    const std::string exclusive = home.dir().file("exclusive");
    HelperSpec spec = helper({"--exclusive=" + exclusive});
    auto one = supervisor.hold(spec);
    ASSERT_TRUE(one->request("echo").has_value());
    spec.key = "second";
    auto two = supervisor.hold(spec);
    ASSERT_TRUE(two->request("echo").has_value());
    EXPECT_TRUE(harness::read_file(exclusive + ".overlap").has_value());
}

TEST_F(SupervisorStorm, TenThousandHoldsLeaveNoTrace) {
    const std::size_t threads_before = entries_of("/proc/self/task"); // a sanitizer may have one of its own
    Supervisor supervisor = make();
    const HelperSpec spec = helper();
    const auto cycle = [&] {
        auto hold = supervisor.hold(spec);
        ASSERT_TRUE(hold.has_value());
    };
    const auto start_and_stop = [&] {
        {
            auto hold = supervisor.hold(spec);
            ASSERT_TRUE(hold->request("echo").has_value());
        }
        ASSERT_TRUE(harness::eventually(
            Deadline::in(10s), [&] { return supervisor.status()[0].second.state == HelperState::idle; }));
    };
    const auto measured = [&] {
        return std::array{entries_of("/proc/self/fd"), entries_of("/proc/self/task"),
                          harness::descendants(::getpid()).size()};
    };
    for (int i = 0; i < 50; ++i)
        start_and_stop();
    // Keepers are reaped, and threads end, a moment after their last work.
    ASSERT_TRUE(harness::eventually(
        Deadline::in(30s), [&] { return measured()[1] <= threads_before + 1 && measured()[2] == 0; }));
    const auto before = measured();
    const long memory = resident_kb();
    {
        auto kept = supervisor.hold(spec);
        for (int i = 0; i < 9'700; ++i)
            cycle();
    }
    for (int i = 0; i < 300; ++i)
        start_and_stop();
    // Not more than before. It may be fewer: a thread that a test before this one had ended can still have
    // been on its way out when the first count was taken.
    std::array<std::size_t, 3> after{};
    EXPECT_TRUE(harness::eventually(Deadline::in(30s),
                                    [&] {
                                        after = measured();
                                        return after[0] <= before[0] && after[1] <= before[1] &&
                                               after[2] <= before[2];
                                    }))
        << "descriptors, threads, children: " << after[0] << ", " << after[1] << ", " << after[2] << " after "
        << before[0] << ", " << before[1] << ", " << before[2];
    EXPECT_LT(resident_kb() - memory, 2048);
    EXPECT_EQ(before[2], 0U) << "no zombies";
}

TEST_F(SupervisorStorm, AHoldIsSmall) {
    Supervisor supervisor = make();
    const HelperSpec spec = helper();
    auto kept = supervisor.hold(spec);
    ASSERT_TRUE(kept->wait_ready().has_value());
    constexpr int count = 20'000;
    std::vector<Hold> holds;
    holds.reserve(count);
    const long before = resident_kb();
    for (int i = 0; i < count; ++i)
        holds.push_back(std::move(*supervisor.hold(spec)));
    EXPECT_LT((resident_kb() - before) * 1024 / count, 4096);
}

TEST_F(SupervisorStorm, AHundredThousandRequestsInFlightAreBoundedAndFair) {
    Supervisor supervisor = make();
    HelperSpec spec = helper();
    spec.limits.max_in_flight = 200'000; // of which one hold alone may have half
    auto greedy = supervisor.hold(spec);
    auto modest = supervisor.hold(spec);
    const int pid = number(greedy->request("pid"));
    auto process = harness::open_pidfd(pid);
    ASSERT_TRUE(process.has_value());
    // It stands still until all have asked, so that what follows is a matter of order and not of time.
    ASSERT_EQ(harness::pidfd_signal(process->get(), SIGSTOP), 0);
    std::atomic<int> done = 0;
    std::atomic<int> before_modest = -1;
    int accepted = 0;
    for (int i = 0; i < 100'000; ++i)
        accepted += greedy
                        ->start("echo", "[1]", {.timeout = patient(300s)},
                                [&](Result<Reply> reply) { done += reply.has_value(); })
                        .has_value();
    EXPECT_EQ(accepted, 100'000);
    EXPECT_EQ(greedy->status().in_flight, 100'000U);
    EXPECT_EQ(done, 0);
    const auto one_more = greedy->start("echo", "[1]", {.timeout = patient(300s)});
    ASSERT_TRUE(one_more.has_value());
    EXPECT_TRUE(one_more->done()) << "the bound is stated, and this is beyond it";
    // Callbacks come in nearly the order of the answers, which is all that is needed here.
    ASSERT_TRUE(modest->start("echo", "[2]", {.timeout = patient(300s)},
                              [&](Result<Reply> reply) { before_modest = reply ? done.load() : -2; }));
    ASSERT_EQ(harness::pidfd_signal(process->get(), SIGCONT), 0);
    EXPECT_TRUE(harness::eventually(Deadline::in(120s), [&] { return done == 100'000; })) << done;
    // What was in the pipe already (64 KiB) goes first; then all holds take turns.
    EXPECT_GE(before_modest, 0);
    EXPECT_LT(before_modest, 5'000) << "it did not wait behind them all";
}

} // namespace holdfast::supervise_test
