// What has to hold for "proven", and what each missing piece turns it into.
#include "diagnosis_world.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
using namespace base;
namespace {

// One finding, of this kind, suspected, with a doubt that contains the words.
void expect_suspected(World& world, FindingKind kind, std::string_view doubt) {
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, kind);
    EXPECT_FALSE(findings[0].proven);
    EXPECT_FALSE(findings[0].reapable());
    ASSERT_FALSE(findings[0].doubts.empty());
    EXPECT_TRUE(findings[0].doubts[0].contains(doubt)) << findings[0].doubts[0];
}

TEST(OrphanRule, ACutOffIdleProcessOfADeadStarterIsProven) {
    World world;
    world.add_orphan(500);
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, FindingKind::orphaned);
    EXPECT_TRUE(findings[0].proven);
    EXPECT_TRUE(findings[0].reapable());
    EXPECT_EQ(findings[0].identity.pid, 500);
    EXPECT_EQ(findings[0].pids, std::vector<int>{500});
    EXPECT_EQ(findings[0].memory, 1U << 20);
    EXPECT_EQ(findings[0].age_ms, 3'600'000U);
    EXPECT_TRUE(findings[0].doubts.empty());
    EXPECT_EQ(findings[0].evidence.size(), 4U);
}

// It got nothing done because others had the processors.
TEST(OrphanRule, WaitingForAProcessorIsWork) {
    World world;
    world.add_orphan(500).activity.wait_ms = 300;
    expect_suspected(world, FindingKind::orphaned, "at work");
}

TEST(OrphanRule, WhoIsRunnableAtALookIsNotIdle) {
    World world;
    world.add_orphan(500).activity.runnable = true;
    expect_suspected(world, FindingKind::orphaned, "waits for a processor");
}

TEST(OrphanRule, ItsDescendantsBelongToIt) {
    World world;
    world.add_orphan(500);
    world.add(501, 500, {"node", "worker.js"}).session = World::dead_host;
    world.add(502, 501, {"sleep", "60"}).session = World::dead_host;
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_TRUE(findings[0].proven);
    EXPECT_EQ(findings[0].pids, (std::vector<int>{500, 501, 502}));
    EXPECT_EQ(findings[0].memory, 3U << 20);
}

TEST(OrphanRule, PipesInsideTheTreeAreNoDoubt) {
    World world;
    world.add_orphan(500);
    auto& server = world.add(501, 500, {"node", "server.js"});
    server.session = World::dead_host;
    world.pipe_stdio(server, 500); // a launcher that passes stdio on by itself
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_TRUE(findings[0].proven) << findings[0].doubts[0];
}

TEST(OrphanRule, AClosedSocketCountsLikeAPipe) {
    World world;
    auto& process = world.add(500, World::init, {"node", "server.js"});
    process.session = World::dead_host;
    process.input = process.output = {.kind = ChannelKind::unix_socket, .inode = 70, .far_end = FarEnd::gone};
    process.links = {{.fd = 0, .kind = LinkKind::unix_socket, .inode = 70, .far_end = FarEnd::gone}};
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_TRUE(findings[0].proven);
}

TEST(OrphanRule, AStoppedOneIsProvenToo) {
    World world;
    world.add_orphan(500).state = 'T';
    EXPECT_TRUE(world.diagnose().at(0).proven);
}

TEST(OrphanRule, AnotherUsersIsNotOursToProve) {
    World world;
    world.add_orphan(500).uid = 1001;
    expect_suspected(world, FindingKind::orphaned, "another user");
}

TEST(OrphanRule, ASetUidProgramIsNotOursToProve) {
    World world;
    world.add_orphan(500).one_uid = false;
    expect_suspected(world, FindingKind::orphaned, "another user");
}

TEST(OrphanRule, ADescendantOfAnotherUserHoldsTheWholeTreeBack) {
    World world;
    world.add_orphan(500);
    world.add(501, 500, {"su-child"}).uid = 0;
    expect_suspected(world, FindingKind::orphaned, "another user");
}

TEST(OrphanRule, ATerminalsOwnIsOnlySuspected) {
    World world;
    world.add_orphan(500).has_terminal = true;
    expect_suspected(world, FindingKind::orphaned, "terminal");
}

TEST(OrphanRule, AComputingOneIsOnlySuspected) {
    World world;
    world.add_orphan(500).activity.cpu_ms = 400;
    expect_suspected(world, FindingKind::orphaned, "at work");
}

TEST(OrphanRule, AComputingDescendantCountsAsWork) {
    World world;
    world.add_orphan(500);
    world.add(501, 500, {"ffmpeg"}).activity.cpu_ms = 400;
    expect_suspected(world, FindingKind::orphaned, "at work");
}

TEST(OrphanRule, OneThatMovesManyBytesIsOnlySuspected) {
    World world;
    world.add_orphan(500).activity.io_bytes = 10 << 20;
    expect_suspected(world, FindingKind::orphaned, "at work");
}

TEST(OrphanRule, ATickingTimerIsNotWork) {
    World world;
    auto& process = world.add_orphan(500);
    process.activity.cpu_ms = 10;
    process.activity.io_bytes = 40;
    EXPECT_TRUE(world.diagnose().at(0).proven);
}

TEST(OrphanRule, AListenerIsOnlySuspected) {
    World world;
    world.add_orphan(500).links.push_back(
        {.fd = 5, .kind = LinkKind::unix_socket, .inode = 71, .door = true});
    expect_suspected(world, FindingKind::orphaned, "listens");
}

TEST(OrphanRule, ANetworkSocketIsADoubt) {
    World world;
    world.add_orphan(500).links.push_back({.fd = 5, .kind = LinkKind::other_socket, .inode = 71});
    expect_suspected(world, FindingKind::orphaned, "network socket");
}

TEST(OrphanRule, APipeToALivingStrangerIsADoubt) {
    World world;
    world.add_orphan(500).links.push_back(
        {.fd = 5, .kind = LinkKind::pipe_reader, .inode = 71, .far_end = FarEnd::alive});
    world.add(600, World::init, {"friend"}).links = {{.fd = 7, .kind = LinkKind::pipe_writer, .inode = 71}};
    expect_suspected(world, FindingKind::orphaned, "living process 600");
}

TEST(OrphanRule, ALogThatIsStillReadIsNoDoubt) {
    World world;
    world.add_orphan(500).links.push_back({.fd = 2,
                                           .kind = LinkKind::unix_socket,
                                           .inode = 71,
                                           .peer = 72,
                                           .far_end = FarEnd::alive}); // the journal
    EXPECT_TRUE(world.diagnose().at(0).proven);
    World other;
    other.add_orphan(500).links.push_back(
        {.fd = 2, .kind = LinkKind::pipe_writer, .inode = 71, .far_end = FarEnd::alive});
    EXPECT_TRUE(other.diagnose().at(0).proven);
}

TEST(OrphanRule, APipeWithAnUnseenHolderIsADoubt) {
    World world;
    world.add_orphan(500).links.push_back(
        {.fd = 5, .kind = LinkKind::pipe_reader, .inode = 71, .far_end = FarEnd::alive});
    expect_suspected(world, FindingKind::orphaned, "cannot be seen");
}

TEST(OrphanRule, AConnectedSocketWithAnUnseenPeerIsADoubt) {
    World world;
    world.add_orphan(500).links.push_back(
        {.fd = 5, .kind = LinkKind::unix_socket, .inode = 71, .peer = 72, .far_end = FarEnd::alive});
    expect_suspected(world, FindingKind::orphaned, "cannot be seen");
}

TEST(OrphanRule, UnreadInputIsADoubt) {
    World world;
    world.add_orphan(500).input.unread = true;
    expect_suspected(world, FindingKind::orphaned, "not read yet");
}

TEST(OrphanRule, ADebuggedOneIsOnlySuspected) {
    World world;
    world.add_orphan(500).traced = true;
    expect_suspected(world, FindingKind::orphaned, "debugged");
}

TEST(OrphanRule, OneThatChangedWhileWeLookedIsOnlySuspected) {
    World world;
    world.add_orphan(500).activity.measured = false;
    expect_suspected(world, FindingKind::orphaned, "changed while we looked");
}

TEST(OrphanRule, ADescendantWhoseDescriptorsAreHiddenIsADoubt) {
    World world;
    world.add_orphan(500);
    world.add(501, 500, {"secretive"}).descriptors_known = false;
    expect_suspected(world, FindingKind::orphaned, "does not show");
}

TEST(OrphanRule, TheAskersOwnTreeIsNeverProven) {
    World world;
    auto& shell = world.add_orphan(500);
    world.get(99).ppid = shell.pid();
    EXPECT_TRUE(world.diagnose().empty());
}

TEST(OrphanRule, OutputToAFileMakesItASuspicion) {
    World world;
    world.add_orphan(500).output = {.kind = ChannelKind::file};
    expect_suspected(world, FindingKind::no_writer, "file");
}

TEST(OrphanRule, AMarkWithoutAKeeperIsASuspicion) {
    World world;
    auto& process = world.add(500, World::init, {"daemon"});
    process.session = World::dead_host;
    EXPECT_TRUE(world.diagnose().empty()) << "without the mark it is any daemon";
    process.mark = "id-1";
    expect_suspected(world, FindingKind::orphaned, "--spare");
}

TEST(OrphanRule, ScopeKeepsFindingsOutButNotEvidence) {
    World world;
    world.add_orphan(500);
    world.settings.in_scope = [](int pid) { return pid != 500; };
    EXPECT_TRUE(world.diagnose().empty());
}

TEST(OrphanRule, ProvenOnesComeFirstThenTheLargest) {
    World world;
    world.add_orphan(500).traced = true;
    world.add_orphan(501);
    world.add_orphan(502).memory = 5 << 20;
    auto findings = world.diagnose();
    ASSERT_EQ(findings.size(), 3U);
    EXPECT_EQ(findings[0].identity.pid, 502);
    EXPECT_EQ(findings[1].identity.pid, 501);
    EXPECT_EQ(findings[2].identity.pid, 500);
}

// npm as it waits for the server that it has loaded: the server's stdio is its own, and it has a connection
// to the registry for minutes.
ProcessFacts& add_npm(World& world, std::vector<std::string> argv) {
    auto& npm = world.add_orphan(500);
    npm.argv = std::move(argv);
    npm.comm = "npm exec server";
    npm.links.push_back({.fd = 20, .kind = LinkKind::quiet_tcp, .inode = 77});
    auto& server = world.add(501, 500, {"node", "server.js"});
    server.session = npm.session;
    server.input = npm.input;
    server.output = npm.output;
    return npm;
}

TEST(Orphan, BehindNpmWithAConnectionToItsRegistry) {
    for (const std::vector<std::string>& argv :
         {std::vector<std::string>{"npm exec server"},
          {"node", "/usr/bin/npx", "server"},
          {"/usr/bin/node", "/usr/lib/node_modules/npm/bin/npx-cli.js", "-y", "server"}}) {
        World world;
        add_npm(world, argv);
        const auto findings = world.diagnose();
        ASSERT_EQ(findings.size(), 1U);
        EXPECT_TRUE(findings[0].proven) << argv.front();
        EXPECT_EQ(findings[0].pids, (std::vector<int>{500, 501}));
    }
}

TEST(Orphan, AConnectionIsADoubtWhereverItIsNotNpmsOwn) {
    const auto doubts = [](World& world) {
        const auto findings = world.diagnose();
        return findings.size() == 1 && !findings[0].proven && findings[0].doubts.size() == 1 &&
               findings[0].doubts[0].find("network socket") != std::string::npos;
    };
    World other_program;
    add_npm(other_program, {"node", "agent.js"});
    EXPECT_TRUE(doubts(other_program));
    World at_work;
    add_npm(at_work, {"npm exec server"}).links.back().kind =
        LinkKind::other_socket; // listens, or data waits
    EXPECT_TRUE(doubts(at_work));
    World still_loading;
    auto& npm = still_loading.add_orphan(500);
    npm.argv = {"npm exec server"};
    npm.links.push_back({.fd = 20, .kind = LinkKind::quiet_tcp, .inode = 77});
    EXPECT_TRUE(doubts(still_loading)) << "it has not started its command yet";
    World of_the_server;
    add_npm(of_the_server, {"npm exec server"});
    of_the_server.get(501).links.push_back({.fd = 9, .kind = LinkKind::quiet_tcp, .inode = 78});
    EXPECT_TRUE(doubts(of_the_server));
}

TEST(Title, IsWhatIsLeftOfTheCommandLine) {
    using Words = std::vector<std::string>;
    EXPECT_EQ(without_title_padding({"npm exec server", "", "", ""}), Words{"npm exec server"});
    EXPECT_EQ(without_title_padding({"node", "", "x"}), (Words{"node", "", "x"}));
    EXPECT_EQ(without_title_padding({"node"}), Words{"node"});
    EXPECT_EQ(without_title_padding({}), Words{});
}

} // namespace
} // namespace holdfast::core
