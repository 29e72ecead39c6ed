// What a host does with its own registry while it lives.
#include "registry_fixture.hpp"

#include <algorithm>

namespace holdfast::registry_test {
namespace {

TEST_F(RegistryTest, EndsASessionsProcessesAndNoOthers) {
    Registry registry = open();
    Animal a = start("timer_holder"), b = start("timer_holder"), other = start("timer_holder");
    auto first = registry.register_process(a.child.pid(), {.label = "one", .session = "A", .task = "t1"});
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(registry.register_process(b.child.pid(), {.label = "two", .session = "A"}));
    ASSERT_TRUE(registry.register_process(other.child.pid(), {.label = "three", .session = "B"}));

    EXPECT_EQ(registry.find("A").size(), 2U);
    EXPECT_EQ(registry.find("B").size(), 1U);
    EXPECT_TRUE(registry.find("").empty());
    ASSERT_EQ(registry.find_task("t1").size(), 1U);
    EXPECT_EQ(registry.find_task("t1")[0].id, first->id);
    EXPECT_EQ(first->argv.at(0), harness::program("zoo/timer_holder"));
    EXPECT_TRUE(registry.has_active("A"));
    EXPECT_FALSE(registry.has_active("C"));

    auto report = registry.end_session("A");
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->clean());
    ASSERT_EQ(report->ended.size(), 2U);
    EXPECT_EQ(report->ended[0].exit_status, 128 + SIGTERM);
    EXPECT_FALSE(a.child.alive());
    EXPECT_FALSE(b.child.alive());
    EXPECT_FALSE(registry.has_active("A"));
    EXPECT_TRUE(registry.has_active("B"));
    EXPECT_TRUE(other.child.alive());
    // The status is still the host's to collect: the registry only looked.
    auto status = a.child.wait(soon());
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->killed_by(SIGTERM)) << to_string(*status);
    EXPECT_EQ(registry.find("A").size(), 2U) << "finished ones are remembered";
    EXPECT_EQ(registry.end_session("A")->ended.size(), 0U) << "and are not ended again";
}

TEST_F(RegistryTest, AnEmptySessionMeansNobody) {
    Registry registry = open();
    Animal free = start("timer_holder");
    ASSERT_TRUE(registry.register_process(free.child.pid(), {.label = "no session"}));
    EXPECT_FALSE(registry.has_active(""));
    EXPECT_TRUE(registry.find("").empty());
    EXPECT_TRUE(registry.find_task("").empty());
    auto report = registry.end_session("");
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::invalid_argument);
    EXPECT_TRUE(free.child.alive());
}

TEST_F(RegistryTest, EndsOneById) {
    Registry registry = open();
    Animal a = start("timer_holder"), b = start("timer_holder");
    auto first = registry.register_pidfd(a.child.pidfd(), {});
    auto second = registry.register_pidfd(b.child.pidfd(), {});
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->pid, a.child.pid());
    EXPECT_EQ(first->label, "timer_holder");
    auto report = registry.end(first->id, {.now = true});
    ASSERT_TRUE(report && report->ended.size() == 1);
    EXPECT_EQ(report->ended[0].exit_status, 128 + SIGKILL);
    EXPECT_TRUE(b.child.alive());
    EXPECT_EQ(registry.end("no-such-id").error().code, Errc::not_found);
    EXPECT_TRUE(registry.forget(first->id));
    EXPECT_TRUE(registry.collect().empty()) << "what is forgotten is no news";
    EXPECT_TRUE(registry.forget(second->id));
    EXPECT_FALSE(registry.forget(second->id));
    EXPECT_TRUE(b.child.alive()) << "forgetting ends nothing";
    EXPECT_TRUE(registry.all().empty());
    EXPECT_EQ(files(), 0U);
}

TEST_F(RegistryTest, EndsWhatIsBelow) {
    Registry registry = open();
    Animal launcher = start("launcher");
    ASSERT_GE(launcher.pids.size(), 2U);
    ASSERT_TRUE(registry.register_process(launcher.child.pid(), {.session = "A"}));
    auto report = registry.end_session("A");
    ASSERT_TRUE(report && report->clean());
    for (pid_t pid : launcher.pids)
        EXPECT_FALSE(lives(pid)) << pid;

    // The control: a signal to the registered process alone leaves the server behind it.
    Animal again = start("launcher");
    ASSERT_TRUE(again.child.signal(SIGKILL) && again.child.wait(soon()));
    EXPECT_TRUE(lives(again.pids.back()));
}

TEST_F(RegistryTest, EndsTheUnwillingTogether) {
    Registry registry = open();
    std::vector<Animal> animals;
    constexpr int unwilling = 20;
    for (int i = 0; i <= unwilling; ++i) {
        animals.push_back(start(i == unwilling ? "stopped" : "term_ignorer"));
        ASSERT_TRUE(registry.register_process(animals.back().child.pid(), {.session = "A"}));
    }
    constexpr Millis grace{1000};
    auto began = Registry::clock_ms();
    auto report = registry.end_session("A", {.grace = grace});
    auto took = Millis{Registry::clock_ms() - began};
    ASSERT_TRUE(report && report->clean());
    EXPECT_EQ(report->ended.size(), unwilling + 1U);
    EXPECT_GE(took, grace) << "they were asked first";
    EXPECT_LT(took, grace * unwilling) << "one after the other they would need that long";
    EXPECT_EQ(std::count_if(report->ended.begin(), report->ended.end(),
                            [](const Registered& one) { return one.exit_status == 128 + SIGTERM; }),
              1)
        << "the stopped one was continued and ended by TERM";
}

TEST_F(RegistryTest, NamesSurvivors) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root, to start a process of another user and to become a third";
    // A process that may not be signalled: the host is another user, and knows it by pidfd.
    Animal animal = start("timer_holder");
    Host host([&]() -> std::string {
        std::filesystem::create_directories(home_.path() + "/other");
        (void)!::chown((home_.path() + "/other").c_str(), 65534, 65534);
        ::chmod(home_.path().c_str(), 0755);
        if (::setresuid(65534, 65534, 65534) != 0)
            return "cannot become another user";
        auto registry = Registry::open({.host = "other", .directory = home_.path() + "/other/helpers"});
        if (!registry)
            return registry.error().message;
        auto one = registry->register_process(animal.child.pid(), {});
        if (!one)
            return one.error().message;
        auto report = registry->end(one->id);
        if (!report)
            return report.error().message;
        return report->clean() ? "claims success"
                               : "survivor " + std::to_string(report->survivors.at(0).pid) + " ended " +
                                     std::to_string(report->ended.size());
    });
    EXPECT_EQ(host.line(), "survivor " + std::to_string(animal.child.pid()) + " ended 0");
    EXPECT_TRUE(animal.child.alive());
}

TEST_F(RegistryTest, RefusesWhatIsNoHelper) {
    EXPECT_EQ(Registry::open({.host = "", .directory = directory()}).error().code, Errc::invalid_argument);
    EXPECT_EQ(Registry::open({.host = "a/b", .directory = directory()}).error().code, Errc::invalid_argument);
    Registry registry = open();
    EXPECT_EQ(registry.register_process(::getpid(), {}).error().code, Errc::invalid_argument);
    EXPECT_EQ(registry.register_process(1, {}).error().code, Errc::invalid_argument);
    EXPECT_EQ(registry.register_process(0, {}).error().code, Errc::invalid_argument);
    EXPECT_EQ(registry.register_pidfd(STDIN_FILENO, {}).error().code, Errc::invalid_argument);
    Animal animal = start("timer_holder");
    EXPECT_EQ(registry.register_process(animal.child.pid(), {.session = std::string(1001, 'x')}).error().code,
              Errc::invalid_argument);
    ASSERT_TRUE(registry.register_process(animal.child.pid(), {}));
    EXPECT_EQ(registry.register_pidfd(animal.child.pidfd(), {}).error().code, Errc::held);
    Animal dead = start("exiter");
    ASSERT_TRUE(dead.child.wait_ended(soon()));
    EXPECT_EQ(registry.register_process(dead.child.pid(), {}).error().code, Errc::not_found) << "a zombie";
    ASSERT_TRUE(dead.child.wait(soon()));
    EXPECT_EQ(registry.register_pidfd(dead.child.pidfd(), {}).error().code, Errc::not_found) << "reaped";
    EXPECT_EQ(registry.all().size(), 1U);
}

TEST_F(RegistryTest, KeepsRecordsReadableWhateverTheArguments) {
    Registry registry = open();
    Animal animal = start("timer_holder");
    ProcessNotes notes{.argv = {"x", std::string(200'000, '\x01'), "cut off"}};
    auto one = registry.register_process(animal.child.pid(), notes);
    ASSERT_TRUE(one) << one.error().message;
    auto seen = registry.survey();
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->size(), 1U) << "the record could be read back";
    EXPECT_EQ((*seen)[0].argv.size(), 2U);
    EXPECT_TRUE((*seen)[0].alive);
}

TEST_F(RegistryTest, TellsOfEachEndOnce) {
    Registry registry = open();
    Animal a = start("exiter", {"--code=7", "--delay-ms=300"});
    Animal b = start("timer_holder");
    auto one = registry.register_process(a.child.pid(), {});
    ASSERT_TRUE(one && registry.register_process(b.child.pid(), {}));
    EXPECT_FALSE(readable(registry.poll_fd(), 0));
    ASSERT_TRUE(readable(registry.poll_fd(), 20'000));
    EXPECT_FALSE(registry.get(one->id)->alive) << "another call may notice the end first";
    EXPECT_TRUE(readable(registry.poll_fd(), 0)) << "the news is still to be collected";
    auto told = registry.collect();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].id, one->id);
    EXPECT_EQ(told[0].exit_status, 7);
    EXPECT_FALSE(readable(registry.poll_fd(), 0));
    EXPECT_TRUE(registry.collect().empty());
    auto status = a.child.wait(soon());
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(7));
}

TEST_F(RegistryTest, ReapsWhenAskedTo) {
    RegistryOptions wanted = options();
    wanted.reap = true;
    Registry registry = open(wanted);
    Animal animal = start("exiter", {"--code=9", "--delay-ms=300"});
    ASSERT_TRUE(registry.register_process(animal.child.pid(), {}));
    ASSERT_TRUE(readable(registry.poll_fd(), 20'000));
    EXPECT_EQ(registry.collect().at(0).exit_status, 9);
    EXPECT_EQ(::waitpid(animal.child.pid(), nullptr, WNOHANG), -1) << "no zombie is left";
    animal.child.release();
}

TEST_F(RegistryTest, CountsTimeToLiveFromTheEnd) {
    RegistryOptions wanted = options();
    wanted.ttl = 60s;
    Registry registry = open(wanted);
    Animal animal = start("timer_holder");
    const auto registered_at = Registry::clock_ms();
    auto one = registry.register_process(animal.child.pid(), {});
    ASSERT_TRUE(one);
    EXPECT_EQ(registry.expire(registered_at + 3'600'000), 0U) << "the living never expire";
    while (Registry::clock_ms() < registered_at + 50)
        ::usleep(1000);
    const auto before_end = Registry::clock_ms();
    ASSERT_TRUE(registry.end(one->id));
    const auto after_end = Registry::clock_ms();
    // Counted from the start it would have expired by now: that is the control.
    ASSERT_GT(before_end + 60'000 - 1, registered_at + 60'000);
    EXPECT_EQ(registry.expire(before_end + 60'000 - 1), 0U);
    ASSERT_TRUE(registry.get(one->id));
    EXPECT_EQ(registry.get(one->id)->exit_status, 128 + SIGTERM);
    EXPECT_EQ(files(), 2U);
    EXPECT_EQ(registry.expire(after_end + 60'000), 1U);
    EXPECT_FALSE(registry.get(one->id));
    EXPECT_EQ(files(), 0U);
}

TEST_F(RegistryTest, KeepsItsLimit) {
    RegistryOptions wanted = options();
    wanted.max_entries = 2;
    Registry registry = open(wanted);
    Animal a = start("timer_holder"), b = start("timer_holder"), c = start("timer_holder");
    auto first = registry.register_process(a.child.pid(), {});
    ASSERT_TRUE(first && registry.register_process(b.child.pid(), {}));
    auto third = registry.register_process(c.child.pid(), {});
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, Errc::overflow);
    EXPECT_EQ(files(), 4U) << "the refused one left nothing";
    ASSERT_TRUE(registry.end(first->id));
    third = registry.register_process(c.child.pid(), {});
    EXPECT_TRUE(third) << "a finished one makes way, whatever its time to live";
    EXPECT_FALSE(registry.get(first->id));
    EXPECT_EQ(registry.all().size(), 2U);
}

TEST_F(RegistryTest, AForkOwnsNothing) {
    Registry registry = open();
    Animal animal = start("timer_holder");
    auto one = registry.register_process(animal.child.pid(), {.session = "A"});
    ASSERT_TRUE(one);
    pid_t child = ::fork();
    if (child == 0) {
        bool nothing = registry.register_process(animal.child.pid(), {}).error().code == Errc::closed &&
                       registry.end_session("A").error().code == Errc::closed &&
                       registry.end_all().error().code == Errc::closed && registry.find("A").empty() &&
                       !registry.has_active("A") && registry.poll_fd() == -1 && registry.expire(1) == 0 &&
                       registry.collect().empty() && !registry.forget(one->id) && !registry.survey() &&
                       !registry.adopt_or_reap_after_restart(AfterRestart::reap);
        {
            Registry gone = std::move(registry);
        } // destroyed here, and nothing happens
        ::_exit(nothing ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(files(), 2U);
    auto slot = query({.directory = directory(), .name = one->id});
    ASSERT_TRUE(slot);
    EXPECT_EQ(slot->owner_pid, ::getpid());
    // The epoll is shared with the fork: it must still tell us of ends.
    ASSERT_TRUE(animal.child.signal(SIGKILL));
    EXPECT_TRUE(readable(registry.poll_fd(), 20'000));
    EXPECT_EQ(registry.collect().size(), 1U);
}

TEST_F(RegistryTest, LeavesTheLivingAndRemovesTheFinished) {
    Animal a = start("timer_holder"), b = start("timer_holder");
    std::string id;
    {
        Registry registry = open();
        auto one = registry.register_process(a.child.pid(), {});
        auto two = registry.register_process(b.child.pid(), {});
        ASSERT_TRUE(one && two && registry.end(two->id));
        id = one->id;
        EXPECT_EQ(files(), 4U);
    }
    EXPECT_EQ(files(), 2U);
    EXPECT_TRUE(a.child.alive());
    Registry next = open();
    auto report = next.adopt_or_reap_after_restart(AfterRestart::adopt);
    ASSERT_TRUE(report && report->adopted.size() == 1);
    EXPECT_EQ(report->adopted[0].id, id);
}

} // namespace
} // namespace holdfast::registry_test
