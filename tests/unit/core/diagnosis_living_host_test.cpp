// Findings about hosts that live: dropped generations, duplicates, zombies. And the negative control.
#include "diagnosis_world.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace holdfast::core {
using namespace base;
namespace {

TEST(Dropped, AnOlderOneBesideANewerOneInUse) {
    World world;
    world.add(450, World::init, {"host"});
    world.pipe_stdio(world.add(500, 450, {"node", "server.js"}), 0);
    world.pipe_stdio(world.add(501, 450, {"node", "server.js"}), 450);
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, FindingKind::dropped);
    EXPECT_FALSE(findings[0].proven);
    EXPECT_EQ(findings[0].identity.pid, 500);
    EXPECT_EQ(findings[0].host, 450);
}

TEST(Dropped, ANewerOneOfAnotherCommandDoesNotMakeIt) {
    World world;
    world.add(450, World::init, {"host"});
    world.pipe_stdio(world.add(500, 450, {"node", "server.js"}), 0);
    world.pipe_stdio(world.add(501, 450, {"node", "other.js"}), 450);
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, FindingKind::no_writer);
    EXPECT_FALSE(findings[0].proven);
}

TEST(Dropped, WithinOneTickTheKernelsOwnNumberingDecides) {
    World world;
    world.add(450, World::init, {"host"});
    auto& old = world.add(500, 450, {"node", "server.js"});
    world.pipe_stdio(old, 0);
    auto& young = world.add(499, 450, {"node", "server.js"}); // numbers have wrapped around
    world.pipe_stdio(young, 450);
    young.identity.start_ticks = old.identity.start_ticks;
    EXPECT_EQ(world.diagnose().at(0).kind, FindingKind::no_writer);
    old.identity.pidfd_inode = 7000;
    young.identity.pidfd_inode = 7001;
    EXPECT_EQ(world.diagnose().at(0).kind, FindingKind::dropped);
}

TEST(Dropped, OneAtWorkIsNotDropped) {
    World world;
    world.add(450, World::init, {"host"});
    auto& old = world.add(500, 450, {"node", "server.js"});
    world.pipe_stdio(old, 0);
    old.activity.cpu_ms = 300;
    world.pipe_stdio(world.add(501, 450, {"node", "server.js"}), 450);
    EXPECT_TRUE(world.diagnose().empty());
}

TEST(Duplicate, TwoOfOneCommandUnderOneHost) {
    World world;
    world.add(450, World::init, {"host"});
    world.pipe_stdio(world.add(500, 450, {"npx", "server"}), 450);
    world.add(600, 500, {"node", "server.js"});
    world.pipe_stdio(world.add(501, 450, {"npx", "server"}), 450);
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, FindingKind::duplicate);
    EXPECT_FALSE(findings[0].proven);
    EXPECT_EQ(findings[0].host, 450);
    EXPECT_EQ(findings[0].pids, (std::vector<int>{500, 600, 501}));
    EXPECT_EQ(findings[0].memory, 3U << 20);
}

std::string said(const Finding& finding) {
    std::string all = finding.rule;
    for (const auto* sentences : {&finding.evidence, &finding.doubts})
        for (const auto& sentence : *sentences)
            all += "\n" + sentence;
    return all;
}

TEST(Duplicate, NamesTheNewestAndWhatTheOthersDoAndCost) {
    World world;
    world.add(450, World::init, {"host"}).comm = "host";
    for (const auto& [pid, age_ms, idle_ms] :
         {std::tuple{500, 7'200'000, 7'100'000}, {501, 3'600'000, 3'500'000}, {502, 60'000, 200}}) {
        auto& process = world.add(pid, 450, {"npm exec server"});
        world.pipe_stdio(process, 450);
        process.age_ms = static_cast<std::uint64_t>(age_ms);
        process.idle_ms = static_cast<std::uint64_t>(idle_ms);
        process.cpu_ms = 1500;
        process.memory = 40 << 20;
        auto& server = world.add(pid + 100, pid, {"node", "server.js"});
        server.idle_ms = process.idle_ms;
        server.memory = 60 << 20;
        server.input = process.input;
    }
    const auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    const auto& generations = findings[0].generations;
    ASSERT_EQ(generations.size(), 3U);
    EXPECT_EQ(generations[0].pid, 500);
    EXPECT_FALSE(generations[0].newest);
    EXPECT_EQ(generations[2].pid, 502);
    EXPECT_TRUE(generations[2].newest);
    EXPECT_EQ(generations[2].number, 3U);
    EXPECT_EQ(generations[0].memory, 100U << 20);
    EXPECT_EQ(generations[0].idle_ms, 7'100'000U);
    const auto text = said(findings[0]);
    for (const char* sentence :
         {"process 500 is generation 1 of 3: started 2 h ago, 2 processes with 100.0 MB, 1 s of CPU "
          "since; "
          "nothing of it has run for 1 h 58 min",
          "process 502 is generation 3 of 3, the newest: started 1 min ago", "it ran just now",
          "the older ones together: 4 processes with 200.0 MB; none of it has run since the newest "
          "was started",
          "host (450) still holds the pipes of the older ones"})
        EXPECT_NE(text.find(sentence), std::string::npos) << sentence << "\nnot in:\n" << text;
}

TEST(Duplicate, AnOlderOneThatRanIsNotCalledIdle) {
    World world;
    world.add(450, World::init, {"host"});
    for (const int pid : {500, 501}) {
        auto& process = world.add(pid, 450, {"server"});
        world.pipe_stdio(process, 450);
        process.age_ms = pid == 500 ? 3'600'000 : 60'000;
        process.idle_ms = 30'000;
    }
    const auto text = said(world.diagnose().at(0));
    EXPECT_EQ(text.find("none of it has run"), std::string::npos) << text;
    EXPECT_NE(text.find("nothing of it has run for 30 s"), std::string::npos) << text;
}

TEST(Duplicate, WhatTheKernelDoesNotTellIsNotSaid) {
    World world;
    world.add(450, World::init, {"host"});
    for (const int pid : {500, 501})
        world.pipe_stdio(world.add(pid, 450, {"server"}), 450);
    const auto findings = world.diagnose();
    EXPECT_FALSE(findings.at(0).generations.at(0).idle_ms);
    EXPECT_EQ(said(findings[0]).find("run"), said(findings[0]).find("runs 2 times"));
}

TEST(Duplicate, OnePerHostOfOneUser) {
    World world;
    for (int host : {450, 451, 452}) {
        world.add(host, World::init, {"host"});
        world.pipe_stdio(world.add(host + 100, host, {"npx", "server"}), host);
    }
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, FindingKind::duplicate);
    EXPECT_EQ(findings[0].host, 0);
    EXPECT_EQ(findings[0].pids, (std::vector<int>{550, 551, 552}));
    EXPECT_TRUE(findings[0].rule.contains("3 times")) << findings[0].rule;
}

TEST(Duplicate, ALauncherAndItsServerAreOneInstance) {
    World world;
    world.add(450, World::init, {"host"});
    for (int pid : {500, 510}) {
        auto& launcher = world.add(pid, 450, {"serve"});
        world.pipe_stdio(launcher, 450);
        auto& server =
            world.add(pid + 1, pid, {"serve"}); // forked without exec: the same words, the same pipes
        server.input = launcher.input;
        server.output = launcher.output;
        server.links = launcher.links;
    }
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_TRUE(findings[0].rule.contains("2 times")) << findings[0].rule;
}

TEST(Duplicate, SocketsCountLikePipes) {
    World world;
    world.add(450, World::init, {"node", "host.js"});
    for (int pid : {500, 501}) {
        auto& helper = world.add(pid, 450, {"server"});
        auto a = static_cast<std::uint64_t>(pid) * 10, b = a + 1;
        helper.input =
            helper.output = {.kind = ChannelKind::unix_socket, .inode = a, .far_end = FarEnd::alive};
        helper.links = {
            {.fd = 0, .kind = LinkKind::unix_socket, .inode = a, .peer = b, .far_end = FarEnd::alive}};
        world.get(450).links.push_back(
            {.fd = 9, .kind = LinkKind::unix_socket, .inode = b, .peer = a, .far_end = FarEnd::alive});
    }
    ASSERT_EQ(world.diagnose().size(), 1U);
}

TEST(Duplicate, DifferentArgumentsAreDifferentHelpers) {
    World world;
    world.add(450, World::init, {"host"});
    world.pipe_stdio(world.add(500, 450, {"npx", "server", "/a"}), 450);
    world.pipe_stdio(world.add(501, 450, {"npx", "server", "/b"}), 450);
    EXPECT_TRUE(world.diagnose().empty());
}

TEST(Zombie, GroupedUnderTheirCarelessParent) {
    World world;
    world.add(450, World::init, {"careless"});
    for (int pid : {500, 501}) {
        auto& zombie = world.add(pid, 450, {});
        zombie.state = 'Z';
        zombie.descriptors_known = false;
    }
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, FindingKind::zombie);
    EXPECT_TRUE(findings[0].proven);
    EXPECT_FALSE(findings[0].reapable()) << "only the parent can collect them";
    EXPECT_EQ(findings[0].identity.pid, 450);
    EXPECT_EQ(findings[0].pids, (std::vector<int>{500, 501}));
}

// With the channel check off, a plain daemon is called left over: so that check is what protects it.
TEST(NegativeControl, WithoutTheChannelCheckADaemonWouldBeCondemned) {
    World world;
    world.add(501, World::init, {"redis-server"}).session = World::dead_host;
    ASSERT_TRUE(world.diagnose().empty());
    world.settings.without_channel_check = true;
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_TRUE(findings[0].proven);
}

} // namespace
} // namespace holdfast::core
