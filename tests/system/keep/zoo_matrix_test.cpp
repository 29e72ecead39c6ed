// G4, no orphan: every animal × every death × every containment leaves nothing behind.
#include "keep/scene.hpp"

#include <filesystem>

namespace holdfast::harness {

namespace {

struct Animal {
    const char* name; // of the case
    const char* program;
    std::vector<std::string> words;
};

// Printed by GoogleTest with the parameter.
void PrintTo(const Animal& animal, std::ostream* out) {
    *out << animal.name;
}

enum class Death { host_killed, host_exits, front_killed, front_termed, keeper_killed, both_killed };

const char* name_of(Death death) {
    switch (death) {
    case Death::host_killed:
        return "HostKilled";
    case Death::host_exits:
        return "HostExits";
    case Death::front_killed:
        return "FrontKilled";
    case Death::front_termed:
        return "FrontTermed";
    case Death::keeper_killed:
        return "KeeperKilled";
    case Death::both_killed:
        return "BothKilledThenNextStart";
    }
    return "?";
}

const std::vector<Animal> animals{
    {"TermIgnorer", "term_ignorer", {}},
    {"DoubleForker", "double_forker", {}},
    {"DoubleForkerLeaderGone", "double_forker", {"--leader-exits", "--deaf"}},
    {"SetsidDaemon", "setsid_daemon", {}},
    {"TimerHolder", "timer_holder", {}},
    {"Stopped", "stopped", {}},
    {"StoppedAndDeaf", "stopped", {"--ignore-term"}},
    {"ForkStorm", "fork_storm", {"--alive=40"}},
    {"ForkChain", "fork_chain", {}},
    {"Launcher", "launcher", {}},
    {"PtyChild", "pty_child", {}},
    {"FdCloser", "fd_closer", {}},
    {"OddName", "odd_name", {}},
    {"EnvClearer", "env_clearer", {"--fork"}},
    {"CarelessParent", "careless_parent", {}},
};

using Case = std::tuple<Animal, Death, const char*>;

class ZooMatrix : public testing::TestWithParam<Case> {
protected:
    HoldfastHome home;
    Scene scene{home};
};

TEST_P(ZooMatrix, LeavesNothingBehind) {
    const auto& [animal, death, containment] = GetParam();
    std::string why;
    if (std::string(containment) == "cgroup" && !cgroups_can_be_made(why))
        GTEST_SKIP() << "no cgroup can be made here: " << why;
    // An animal whose leader has gone is being ended from then on. What is left of it ignores TERM, so the
    // death comes in the middle of that.
    const bool leader_stays = animal.words.empty() || animal.words.front() != "--leader-exits";
    const std::string plan = leader_stays ? "eof:50ms,term:50ms,kill" : "eof:50ms,term:2s,kill";

    scene.start({.holdfast = {"--stop", plan, "--contain", containment},
                 .command = home.animal(animal.program, animal.words)});
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_FALSE(scene.alive_now().empty());
    const std::string cgroup =
        std::string(containment) == "cgroup"
            ? cgroup_directory_of(leader_stays ? scene.animals().front() : scene.animals().back())
            : "";
    ASSERT_TRUE(leader_stays || Other(scene.animals().front()).ended());
    EXPECT_EQ(cgroup.empty(), std::string(containment) != "cgroup");

    switch (death) {
    case Death::host_killed:
        ASSERT_TRUE(scene.host().kill());
        break;
    case Death::host_exits:
        scene.tell_host('e');
        break;
    case Death::front_killed:
        scene.front().signal(SIGKILL);
        break;
    case Death::front_termed:
        scene.front().signal(SIGTERM);
        break;
    case Death::keeper_killed:
        scene.keeper().signal(SIGKILL);
        break;
    case Death::both_killed: {
        scene.kill_both_guards();
        // A stopped process whose group has just lost its last parent in the session is hung up by the
        // kernel.
        ASSERT_TRUE(std::string(animal.program) == "stopped" ||
                    !scene.survivors(Deadline::exactly(0s)).empty())
            << "without guards the animal lives on";
        const auto next = home.run({"run", "--", "/bin/true"}, Deadline::in(60s));
        ASSERT_TRUE(next) << next.error().message;
        EXPECT_TRUE(next->status.exited_with(0)) << next->err;
        break;
    }
    }
    const auto left = scene.survivors();
    EXPECT_TRUE(left.empty()) << to_string(left);
    EXPECT_FALSE(!cgroup.empty() && std::filesystem::exists(cgroup)) << cgroup << " is left";
    // After the next start at the latest the registry is empty too.
    const auto next = home.run({"run", "--", "/bin/true"});
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_TRUE(registry_ids(home).empty());
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
    const auto& [animal, death, containment] = info.param;
    return std::string(animal.name) + "_" + name_of(death) + "_" + containment;
}

INSTANTIATE_TEST_SUITE_P(All, ZooMatrix,
                         testing::Combine(testing::ValuesIn(animals),
                                          testing::Values(Death::host_killed, Death::host_exits,
                                                          Death::front_killed, Death::front_termed,
                                                          Death::keeper_killed, Death::both_killed),
                                          testing::Values("plain", "cgroup")),
                         name_of_case);

} // namespace

} // namespace holdfast::harness
