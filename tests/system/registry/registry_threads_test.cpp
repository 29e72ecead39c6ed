// Many threads, one registry.
#include "registry_fixture.hpp"

#include <atomic>
#include <thread>

namespace holdfast::registry_test {
namespace {

TEST_F(RegistryTest, ManyThreadsRegisterFindAndEnd) {
    Registry registry = open();
    constexpr int threads = 4, each = 3;
    // Started before the threads: a fork of a process with threads is another subject.
    std::vector<Animal> animals;
    for (int i = 0; i < threads * each; ++i)
        animals.push_back(start("timer_holder"));
    std::atomic<int> ended = 0, wrong = 0;
    std::atomic<bool> done = false;
    std::thread reader([&] {
        while (!done) {
            for (const Registered& one : registry.all())
                wrong += one.id.empty() ? 1 : 0;
            (void)registry.survey();
            (void)registry.collect();
            (void)registry.expire(Registry::clock_ms());
        }
    });
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
        workers.emplace_back([&, t] {
            std::string session = "s" + std::to_string(t);
            for (int i = 0; i < each; ++i) {
                auto one = registry.register_process(
                    animals[static_cast<std::size_t>(t * each + i)].child.pid(), {.session = session});
                wrong += one && registry.has_active(session) ? 0 : 1;
            }
            auto report = registry.end_session(session);
            wrong += report && report->clean() ? 0 : 1;
            ended += report ? static_cast<int>(report->ended.size()) : 0;
            wrong += registry.has_active(session) ? 1 : 0;
        });
    for (std::thread& worker : workers)
        worker.join();
    done = true;
    reader.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ended, threads * each);
    for (const Animal& animal : animals)
        EXPECT_FALSE(animal.child.alive());
}

TEST_F(RegistryTest, WaitingForOneSessionDoesNotHoldUpTheOthers) {
    Registry registry = open();
    Animal stubborn = start("term_ignorer"), other = start("timer_holder");
    ASSERT_TRUE(registry.register_process(stubborn.child.pid(), {.session = "slow"}));
    ASSERT_TRUE(registry.register_process(other.child.pid(), {.session = "quick"}));
    std::atomic<bool> slow_done = false;
    std::thread slow([&] {
        (void)registry.end_session("slow", {.grace = Millis{15'000}});
        slow_done = true;
    });
    auto report = registry.end_session("quick");
    EXPECT_TRUE(report && report->ended.size() == 1);
    EXPECT_FALSE(slow_done);
    ASSERT_TRUE(stubborn.child.signal(SIGKILL)); // so that nobody waits for the grace
    slow.join();
    EXPECT_FALSE(registry.has_active("slow"));
}

} // namespace
} // namespace holdfast::registry_test
