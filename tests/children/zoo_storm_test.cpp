// The storms move, and keep within their bounds.
#include "zoo_fixture.hpp"

#include <cstring>
#include <set>

namespace holdfast::harness {
namespace {

TEST_F(Zoo, ForkStormKeepsForkingInOneGroupWithinItsBounds) {
    auto animal = start("fork_storm", {"--alive=20", "--seconds=10"});
    std::set<pid_t> seen;
    std::size_t most_at_once = 0;
    EXPECT_TRUE(eventually(Deadline::in(10s),
                           [&] {
                               const auto now = marked_processes(home.mark().token());
                               most_at_once = std::max(most_at_once, now.size());
                               for (const auto& process : now) {
                                   EXPECT_EQ(process.pgid, animal.pid());
                                   seen.insert(process.pid);
                               }
                               return seen.size() > 100;
                           }))
        << "only " << seen.size() << " different processes";
    EXPECT_LE(most_at_once, 2U * 20U + 1U) << "a pass over /proc may see a member and its successor";
    EXPECT_GE(most_at_once, 2U);

    ASSERT_TRUE(animal.signal(SIGKILL));
    ASSERT_TRUE(animal.wait_ended(Deadline::in(5s)));
    EXPECT_FALSE(home.mark().survivors(Deadline::exactly(50ms)).empty())
        << "the storm outlives its first process";
    EXPECT_TRUE(end_marked(home.mark().token(), Deadline::in(15s)));
}

TEST_F(Zoo, ForkStormEndsByItself) {
    auto animal = start("fork_storm", {"--alive=10", "--most=60"});
    EXPECT_TRUE(animal.wait(Deadline::in(20s))->exited_with(0));
    EXPECT_TRUE(home.mark().survivors(Deadline::in(5s)).empty());
}

TEST_F(Zoo, ForkChainKeepsMovingThroughSessions) {
    const auto track = home.dir().file("track");
    auto animal = start("fork_chain", {"--pace-us=2000", "--seconds=10", "--track=" + track});
    const auto where = [&]() -> std::pair<pid_t, int> {
        const auto bytes = read_file(track).value_or("");
        std::pair<pid_t, int> here{0, 0};
        if (bytes.size() == sizeof(int) * 2) {
            std::memcpy(&here.first, bytes.data(), sizeof(int));
            std::memcpy(&here.second, bytes.data() + sizeof(int), sizeof(int));
        }
        return here;
    };
    std::set<pid_t> seen;
    EXPECT_TRUE(eventually(Deadline::in(10s), [&] {
        const auto [pid, generation] = where();
        if (const auto info = inspect(pid); pid > 0 && info && !info->dead()) {
            EXPECT_NE(info->sid, ::getsid(0)) << "each has left our session";
            seen.insert(pid);
        }
        return seen.size() > 20 && generation > 30;
    }));
    // The first is long gone and the chain goes on without it: a kill of a known pid would miss it.
    EXPECT_TRUE(gone(pids.at(1)));
    const int before = where().second;
    EXPECT_TRUE(eventually(Deadline::in(5s), [&] { return where().second > before; }));
    EXPECT_LE(marked_processes(home.mark().token()).size(), 3U);
    EXPECT_TRUE(animal.alive());
}

// The scanner's own proof: what moves on every half millisecond is never taken for gone.
TEST_F(Zoo, ForkChainDoesNotEscapeTheSurvivorScan) {
    auto animal = start("fork_chain", {"--pace-us=500", "--leader-exits"});
    ASSERT_TRUE(animal.wait(Deadline::in(5s))->exited_with(0)) << "only the chain is left";
    for (int look = 0; look < 30; ++look)
        ASSERT_FALSE(home.mark().survivors(Deadline::exactly(0ms)).empty()) << "look " << look;
    const auto ended = end_marked(home.mark().token(), Deadline::in(20s));
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_GE(*ended, 1) << "caught, and not only waited for";
}

TEST_F(Zoo, ForkChainEndsByItself) {
    auto animal = start("fork_chain", {"--most=50", "--pace-us=200", "--leader-exits"});
    EXPECT_TRUE(animal.wait(Deadline::in(10s))->exited_with(0));
    EXPECT_TRUE(home.mark().survivors(Deadline::in(10s)).empty());
}

} // namespace
} // namespace holdfast::harness
