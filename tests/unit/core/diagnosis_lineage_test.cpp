#include "diagnosis_world.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
using namespace base;
namespace {

std::string proof(World& world, int pid) {
    (void)world.diagnose(); // fills the snapshot
    Lineage lineage(world.snapshot);
    return proof_of_dead_starter(*lineage.find(pid), lineage);
}

TEST(DeadStarter, AStrangeSessionUnderPid1) {
    World world;
    world.add(500, World::init, {"x"}).session = 400;
    EXPECT_FALSE(proof(world, 500).empty());
}

TEST(DeadStarter, NotInTheParentsSession) {
    World world;
    world.add(500, World::init, {"x"}).session = 1;
    EXPECT_TRUE(proof(world, 500).empty());
}

TEST(DeadStarter, NotForASessionLeader) {
    World world;
    world.add(500, World::init, {"x"}).session = 500;
    EXPECT_TRUE(proof(world, 500).empty());
}

TEST(DeadStarter, NotForASessionFromOutside) {
    World world;
    world.add(500, World::init, {"x"}).session = 0;
    EXPECT_TRUE(proof(world, 500).empty());
}

TEST(DeadStarter, UnderASubreaperThatNeverChangedSession) {
    World world;
    world.add(450, 98, {"subreaper"}).session = 98;
    world.add(500, 450, {"x"}).session = 400;
    EXPECT_FALSE(proof(world, 500).empty());
}

// It may have started its child first and called setsid after.
TEST(DeadStarter, NotUnderASessionLeaderOfUnknownPast) {
    World world;
    world.add(450, 98, {"subreaper"}).session = 450;
    world.add(500, 450, {"x"}).session = 400;
    EXPECT_TRUE(proof(world, 500).empty());
}

TEST(DeadStarter, UnderTheUsersServiceManager) {
    World world;
    auto& manager = world.add(450, World::init, {"systemd", "--user"});
    manager.session = 450;
    world.add(500, 450, {"x"}).session = 400;
    EXPECT_FALSE(proof(world, 500).empty());
}

TEST(DeadStarter, ASessionLeaderInAnApplicationsScopeUnderSystemd) {
    World world;
    auto& manager = world.add(450, World::init, {"systemd", "--user"});
    manager.session = 450;
    auto& process = world.add(500, 450, {"x"});
    process.session = 500;
    process.unit = "app-gnome-editor-77.scope";
    EXPECT_FALSE(proof(world, 500).empty());
    // A remote command whose connection broke is in the scope of its login session, and may be counted on.
    world.get(500).unit = "session-4.scope";
    EXPECT_TRUE(proof(world, 500).empty());
}

TEST(DeadStarter, NotUnderAYoungerParent) {
    World world;
    world.add(500, 450, {"x"}).session = 400;
    world.add(450, 98, {"reused number"}).session = 98;
    EXPECT_TRUE(proof(world, 500).empty());
}

TEST(Units, TheInnermostUnitOfACgroup) {
    EXPECT_EQ(unit_of_cgroup("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope\n"),
              "app-x.scope");
    EXPECT_EQ(unit_of_cgroup("0::/system.slice/cron.service/worker\n"), "cron.service");
    EXPECT_EQ(unit_of_cgroup("9:name=systemd:/system.slice/ssh.service\n4:memory:/other.service\n0::/\n"),
              "ssh.service");
    EXPECT_EQ(unit_of_cgroup("0::/\n"), "");
    EXPECT_EQ(unit_of_cgroup(""), "");
    EXPECT_EQ(unit_of_cgroup("nonsense"), "");
}

TEST(Units, TheUserManagerIsNoServiceOfItsOwn) {
    EXPECT_TRUE(is_service("cron.service"));
    EXPECT_FALSE(is_service("user@1000.service"));
    EXPECT_FALSE(is_service("session-3.scope"));
    EXPECT_FALSE(is_service(""));
}

TEST(Lineage, ACircleOfReusedNumbersEnds) {
    World world;
    world.add(500, 501, {"a"});
    world.add(501, 500, {"b"});
    (void)world.diagnose();
    Lineage lineage(world.snapshot);
    EXPECT_EQ(lineage.tree(500).size(), 2U);
    EXPECT_FALSE(lineage.is_ancestor(1, 500));
}

} // namespace
} // namespace holdfast::core
