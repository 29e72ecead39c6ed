// Negative controls: without Holdfast the same animals are left behind. And the limits that are stated,
// tested as limits.
#include "keep/fixture.hpp"

#include <filesystem>

namespace holdfast::harness {

namespace {

constexpr std::chrono::milliseconds a_while{300}; // in which nothing that lives on ends

class Unguarded : public Keep, public testing::WithParamInterface<const char*> {};

class HostKilled : public Unguarded {};
TEST_P(HostKilled, LeavesTheAnimalBehind) {
    scene.start_unguarded(home.animal(GetParam()));
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(scene.host().kill());
    EXPECT_FALSE(scene.survivors(Deadline::exactly(a_while)).empty());
}
INSTANTIATE_TEST_SUITE_P(Control, HostKilled,
                         testing::Values("term_ignorer", "double_forker", "setsid_daemon", "timer_holder",
                                         "fork_storm", "fork_chain", "launcher", "pty_child", "fd_closer",
                                         "odd_name", "env_clearer", "careless_parent"));

class DirectChildKilled : public Unguarded {};
TEST_P(DirectChildKilled, LeavesTheOthersBehind) {
    scene.start_unguarded(home.animal(GetParam()));
    ASSERT_FALSE(HasFatalFailure());
    scene.front().signal(SIGKILL);
    EXPECT_FALSE(scene.survivors(Deadline::exactly(a_while)).empty());
}
INSTANTIATE_TEST_SUITE_P(Control, DirectChildKilled,
                         testing::Values("double_forker", "setsid_daemon", "launcher", "pty_child",
                                         "fork_chain"));

class GroupKilled : public Unguarded {};
TEST_P(GroupKilled, LeavesThoseWithSessionsOfTheirOwn) {
    scene.start_unguarded(home.animal(GetParam()));
    ASSERT_FALSE(HasFatalFailure());
    // The host leads the group and is our child, not yet reaped: the number is its own.
    ASSERT_EQ(::kill(-scene.host().pid(), SIGKILL), 0);
    ASSERT_TRUE(scene.host().wait(Deadline::in(patience)));
    EXPECT_FALSE(scene.survivors(Deadline::exactly(a_while)).empty());
}
INSTANTIATE_TEST_SUITE_P(Control, GroupKilled, testing::Values("setsid_daemon", "pty_child"));

// It has neither the mark nor a descriptor. While a guard lives it is ended like any other, being its
// descendant. After a double SIGKILL the record names the command itself; of the rest only a cgroup or a PID
// namespace knows whose it was.
class Traceless : public Keep {
protected:
    Words traceless() const {
        return Words{"/usr/bin/env", "-i"} + home.animal("fd_closer", {"--report=" + report});
    }
    void start_and_kill_both(const Words& options) { start_and_kill_both(options, traceless()); }
    void start_and_kill_both(const Words& options, const Words& command) {
        scene.start({.holdfast = quickly + options, .command = command, .wait_ready = false});
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(wait_for_file(report, Deadline::in(patience)));
        scene.find_keeper();
        scene.kill_both_guards();
        ASSERT_FALSE(scene.alive_now().empty());
        EXPECT_TRUE(holdfast({"run", "--", "/bin/true"}).status.exited_with(0));
    }
    const std::string report = home.dir().file("traceless");
};

TEST_F(Traceless, IsEndedWhileAGuardLives) {
    for (const bool keeper : {false, true}) {
        scene.start(
            {.holdfast = quickly + Words{"--contain", "plain"},
             .command = Words{"/usr/bin/env", "-i"} + home.animal("fd_closer", {"--report=" + report}),
             .wait_ready = false});
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(wait_for_file(report, Deadline::in(patience)));
        std::filesystem::remove(report);
        scene.find_keeper();
        (keeper ? scene.keeper() : scene.front()).signal(SIGKILL);
        expect_nothing_left();
    }
}

TEST_F(Traceless, IsFoundAfterADoubleKillWhenItIsTheCommandItself) {
    start_and_kill_both({"--contain", "plain"});
    expect_nothing_left();
}

TEST_F(Traceless, LimitADescendantIsNotFoundAfterADoubleKillInPlainContainment) {
    // A shell in between that ends at once: nothing leads from the command to it.
    std::string words;
    for (const std::string& word : traceless())
        words += word + ' ';
    start_and_kill_both({"--contain", "plain"}, {"/bin/sh", "-c", "(" + words + "&) ; exec sleep 3600"});
    EXPECT_EQ(scene.survivors(Deadline::exactly(a_while)).size(), 1U)
        << "if it is found now, say so in the docs";
}

TEST_F(Traceless, IsFoundAfterADoubleKillInACgroup) {
    std::string why;
    if (!cgroups_can_be_made(why))
        GTEST_SKIP() << "no cgroup can be made here: " << why;
    start_and_kill_both({"--contain", "cgroup"});
    expect_nothing_left();
}

// Wherever it was made: the next start may come from another service, scope or container.
TEST_F(Traceless, IsFoundAfterADoubleKillInACgroupOfAnotherPlace) {
    std::string why;
    if (!cgroups_can_be_made(why))
        GTEST_SKIP() << "no cgroup can be made here: " << why;
    const std::string place =
        cgroup_directory_of(::getpid()) + "/holdfast-test-" + std::to_string(::getpid());
    std::filesystem::create_directory(place);
    auto spec = home.command({});
    spec.argv = sh("echo $$ >\"$0\"/cgroup.procs; exec \"$@\"");
    spec.argv[3] = place;
    spec.argv = spec.argv +
                Words{program("holdfast"), "run", "--contain", "cgroup", "--", "/usr/bin/env", "-i"} +
                home.animal("fd_closer", {"--report=" + report});
    spec.in = Stdio::pipe;
    auto front = Child::spawn(spec);
    ASSERT_TRUE(front) << front.error().message;
    ASSERT_TRUE(wait_for_file(report, Deadline::in(patience)));
    const Other keeper = keeper_of(front->pid());
    const std::string cgroup = place + "/holdfast-" + registry_ids(home).at(0);
    EXPECT_TRUE(std::filesystem::exists(cgroup));
    Other(front->pid()).freeze();
    keeper.signal(SIGKILL);
    EXPECT_TRUE(keeper.ended());
    ASSERT_TRUE(front->kill());
    ASSERT_FALSE(scene.alive_now().empty());
    EXPECT_TRUE(holdfast({"run", "--", "/bin/true"}).status.exited_with(0));
    expect_nothing_left();
    EXPECT_FALSE(std::filesystem::exists(cgroup));
    EXPECT_TRUE(registry_ids(home).empty());
    EXPECT_NE(events().find("\"reaped\""), std::string::npos) << events();
    std::filesystem::remove(place);
}

TEST_F(Traceless, IsFoundAfterADoubleKillInAPidNamespace) {
    start_and_kill_both({"--contain", "pidns"});
    expect_nothing_left();
}

TEST_F(Keep, NestedGuardsAreEndedTogether) {
    for (const char* containment : {"auto", "plain"}) {
        scene.start({.holdfast = {"--stop", "now", "--contain", containment},
                     .command = Words{program("holdfast"), "run", "--contain", containment, "--"} +
                                home.animal("double_forker")});
        ASSERT_FALSE(HasFatalFailure());
        const std::string inner = cgroup_directory_of(scene.animals().front());
        const std::string outer = cgroup_directory_of(scene.keeper().pid());
        ASSERT_TRUE(scene.host().kill());
        expect_nothing_left();
        EXPECT_TRUE(inner == outer || !std::filesystem::exists(inner)) << inner << " is left";
    }
}

} // namespace

} // namespace holdfast::harness
