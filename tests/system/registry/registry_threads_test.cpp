// Many threads, one registry.
#include "holdfast/slot.hpp"
#include "records/paths.hpp"
#include "records/record.hpp"
#include "registry/listing.hpp"
#include "registry_fixture.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace holdfast::registry_test {
namespace {

bool owned_in_a_fork(const SlotLocation& location) {
    const std::string path = records::lock_path(location);
    const pid_t child = ::fork();
    if (child == 0) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct flock question{};
        question.l_type = F_RDLCK;
        question.l_whence = SEEK_SET;
        question.l_start = 1;
        question.l_len = 1;
        const bool answered = fd >= 0 && ::fcntl(fd, F_OFD_GETLK, &question) == 0;
        ::_exit(answered && question.l_type != F_UNLCK && question.l_pid == ::getppid() ? 0 : 1);
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

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

// A long list is made by several threads, while others of ours own, open and let go of entries in it. None of
// their owner locks may be dropped by a look (closing a file drops a process's POSIX locks on it).
TEST_F(RegistryTest, ALongListIsMadeByManyThreadsBesideOwners) {
    std::filesystem::create_directories(directory());
    constexpr int entries = 300, owned = 40;
    for (int i = 0; i < entries; ++i) {
        const std::string path = directory() + "/entry" + std::to_string(1000 + i);
        base::Record record{.name = "entry", .epoch = 1, .helper = base::HelperFacts{.label = "old"}};
        ASSERT_TRUE(harness::write_file(path + ".lock", ""));
        ASSERT_TRUE(harness::write_file(path + ".json", records::to_json(record)));
    }
    std::atomic<bool> done = false;
    std::atomic<int> lost = 0, rounds = 0;
    std::thread owner([&] {
        while (!done) {
            std::vector<Ownership> mine;
            for (int i = 0; i < owned; ++i)
                if (auto got = acquire({directory(), "entry" + std::to_string(1000 + i * 7)}, {}))
                    mine.push_back(std::move(*got->ownership));
            // From another process: the kernel's word, not our own table's.
            for (const Ownership& one : mine)
                lost += owned_in_a_fork(one.location()) ? 0 : 1;
            lost += static_cast<int>(mine.size()) == owned ? 0 : 1;
            ++rounds;
        }
    });
    for (int look = 0; look < 20 || rounds < 3; ++look) {
        auto all = registry::list_helpers(directory(), {.measure = look % 5 == 0, .with_history = true});
        ASSERT_TRUE(all);
        EXPECT_EQ(all->size(), static_cast<std::size_t>(entries));
    }
    done = true;
    owner.join();
    EXPECT_EQ(lost, 0);
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
