// What a host finds of its former life.
#include "registry_fixture.hpp"

#include "harness/barrier.hpp"

namespace holdfast::registry_test {
namespace {

class Restart : public RegistryTest {
protected:
    // A host that starts and registers one animal per session and says their PIDs.
    [[nodiscard]] std::function<std::string()> host_with(std::vector<std::string> sessions,
                                                         std::string animal = "timer_holder",
                                                         std::string name = "test-host") const {
        return [=, this]() -> std::string {
            RegistryOptions wanted = options();
            wanted.host = name;
            auto* registry = new Registry(open(wanted)); // lives until the host is killed
            std::string out;
            for (const std::string& session : sessions) {
                pid_t pid = start_and_let_go(animal);
                auto one = registry->register_process(
                    pid, {.label = "worker", .session = session, .task = "t-" + session});
                if (!one)
                    return one.error().message;
                out += std::to_string(pid) + " ";
            }
            return out;
        };
    }
    static std::vector<pid_t> pids_in(const std::string& line) {
        std::vector<pid_t> out;
        for (std::size_t at = 0; at < line.size();) {
            std::size_t end = 0;
            out.push_back(std::stoi(line.substr(at), &end));
            at += end + 1;
        }
        return out;
    }
};

TEST_F(Restart, AdoptsWhatOutlivedTheCrash) {
    Host host(host_with({"A", "B"}));
    auto pids = pids_in(host.line());
    ASSERT_EQ(pids.size(), 2U);
    Registry registry = open();
    // The control: as long as the host lives its entries are its own.
    auto early = registry.adopt_or_reap_after_restart(AfterRestart::reap, {.now = true});
    ASSERT_TRUE(early);
    EXPECT_TRUE(early->adopted.empty() && early->ended.empty() && early->finished.empty() &&
                early->left.empty());
    EXPECT_TRUE(lives(pids[0]) && lives(pids[1]) && host.alive());

    host.kill();
    auto snapshot = registry.survey();
    ASSERT_TRUE(snapshot);
    ASSERT_EQ(snapshot->size(), 2U) << "the records outlived their host";
    for (const Registered& one : *snapshot) {
        EXPECT_TRUE(one.alive);
        EXPECT_EQ(one.host_pid, 0);
        EXPECT_EQ(one.host, "test-host");
        EXPECT_EQ(one.task, "t-" + one.session);
    }
    EXPECT_TRUE(registry.all().empty()) << "and are nobody's";

    auto report = registry.adopt_or_reap_after_restart(AfterRestart::adopt);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->adopted.size(), 2U);
    EXPECT_TRUE(report->ended.empty() && report->finished.empty() && report->left.empty());
    ASSERT_EQ(registry.find("A").size(), 1U);
    Registered a = registry.find("A")[0];
    EXPECT_TRUE(a.adopted && a.alive);
    EXPECT_EQ(a.pid, pids[0]);
    EXPECT_EQ(a.host_pid, ::getpid());
    EXPECT_EQ(a.label, "worker");
    EXPECT_EQ(a.argv.at(0), harness::program("zoo/timer_holder"));
    bool same_id = a.id == (*snapshot)[0].id || a.id == (*snapshot)[1].id;
    EXPECT_TRUE(same_id);

    auto ended = registry.end_session("A");
    ASSERT_TRUE(ended && ended->clean());
    EXPECT_FALSE(lives(pids[0]));
    EXPECT_TRUE(lives(pids[1]));
    EXPECT_TRUE(registry.has_active("B"));
}

TEST_F(Restart, ReapsWhatOutlivedTheCrash) {
    Host host(host_with({"A", "B", "C"}, "launcher"));
    auto pids = pids_in(host.line());
    ASSERT_EQ(pids.size(), 3U);
    host.kill();
    ASSERT_TRUE(lives(pids[0]) && lives(pids[1]) && lives(pids[2]));
    Registry registry = open();
    auto report = registry.adopt_or_reap_after_restart(AfterRestart::reap);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->ended.size(), 3U);
    EXPECT_TRUE(report->survivors.empty() && report->left.empty());
    EXPECT_TRUE(home_.mark().survivors(Deadline::in(10s)).empty()) << "with what was below them";
    EXPECT_EQ(files(), 0U);
}

TEST_F(Restart, DecidesEachByThePolicy) {
    Host host(host_with({"adopt", "reap", "leave"}));
    auto pids = pids_in(host.line());
    ASSERT_EQ(pids.size(), 3U);
    host.kill();
    Registry registry = open();
    auto report = registry.adopt_or_reap_after_restart([&](const Registered& one) {
        EXPECT_TRUE(registry.find(one.session).empty() || one.session == "adopt")
            << "the policy may ask the registry";
        return one.session == "adopt"  ? AfterRestart::adopt
               : one.session == "reap" ? AfterRestart::reap
                                       : AfterRestart::leave;
    });
    ASSERT_TRUE(report);
    ASSERT_EQ(report->adopted.size(), 1U);
    ASSERT_EQ(report->ended.size(), 1U);
    ASSERT_EQ(report->left.size(), 1U);
    EXPECT_EQ(report->left[0].session, "leave");
    EXPECT_TRUE(lives(pids[0]));
    EXPECT_FALSE(lives(pids[1]));
    EXPECT_TRUE(lives(pids[2]));
    EXPECT_EQ(registry.adopt_or_reap_after_restart(AfterRestart::adopt)->adopted.size(), 1U)
        << "it may be taken later";
}

TEST_F(Restart, LeavesOtherHostsEntries) {
    Host host(host_with({"A"}, "timer_holder", "somebody-else"));
    auto pids = pids_in(host.line());
    host.kill();
    Registry registry = open();
    auto report = registry.adopt_or_reap_after_restart(AfterRestart::reap, {.now = true});
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->ended.empty() && report->adopted.empty());
    ASSERT_EQ(pids.size(), 1U);
    EXPECT_TRUE(lives(pids[0]));
    EXPECT_EQ(files(), 2U);
}

TEST_F(Restart, RemembersThoseThatDiedMeanwhileForTheirTime) {
    Host host(host_with({"A"}));
    auto pids = pids_in(host.line());
    ASSERT_EQ(pids.size(), 1U);
    host.kill();
    ASSERT_TRUE(harness::end_marked(home_.mark().token(), soon()));
    ASSERT_FALSE(lives(pids[0]));
    RegistryOptions wanted = options();
    wanted.ttl = 60s;
    Registry registry = open(wanted);
    auto report = registry.adopt_or_reap_after_restart(AfterRestart::adopt);
    ASSERT_TRUE(report);
    ASSERT_EQ(report->finished.size(), 1U);
    EXPECT_TRUE(report->adopted.empty());
    EXPECT_FALSE(report->finished[0].exit_status) << "nobody could learn it";
    EXPECT_FALSE(registry.has_active("A"));
    ASSERT_EQ(registry.find("A").size(), 1U);
    EXPECT_EQ(registry.expire(Registry::clock_ms() + 50'000), 0U);
    EXPECT_EQ(registry.expire(Registry::clock_ms() + 60'000), 1U);
    EXPECT_EQ(files(), 0U);
}

TEST_F(Restart, SurvivesASecondCrash) {
    Host host(host_with({"A"}));
    auto pids = pids_in(host.line());
    ASSERT_EQ(pids.size(), 1U);
    host.kill();
    Host second([&]() -> std::string {
        auto* registry = new Registry(open());
        auto report = registry->adopt_or_reap_after_restart(AfterRestart::adopt);
        return report && report->adopted.size() == 1 ? "adopted" : "not adopted";
    });
    ASSERT_EQ(second.line(), "adopted");
    second.kill();
    Registry registry = open();
    auto report = registry.adopt_or_reap_after_restart(AfterRestart::adopt);
    ASSERT_TRUE(report && report->adopted.size() == 1);
    EXPECT_EQ(report->adopted[0].pid, pids[0]);
    EXPECT_EQ(report->adopted[0].session, "A");
}

TEST_F(Restart, OfSeveralNewHostsEachEntryGoesToOne) {
    Host host(host_with({"1", "2", "3", "4", "5", "6"}));
    ASSERT_EQ(pids_in(host.line()).size(), 6U);
    host.kill();
    auto barrier = harness::Barrier::create(3);
    ASSERT_TRUE(barrier);
    auto contender = [&]() -> std::string {
        auto* registry = new Registry(open());
        if (!barrier->arrive(soon()))
            return "no barrier";
        auto report = registry->adopt_or_reap_after_restart(AfterRestart::adopt);
        return report ? std::to_string(report->adopted.size()) : report.error().message;
    };
    Host one(contender), two(contender), three(contender);
    int sum = std::stoi(one.line()) + std::stoi(two.line()) + std::stoi(three.line());
    EXPECT_EQ(sum, 6);
}

} // namespace
} // namespace holdfast::registry_test
