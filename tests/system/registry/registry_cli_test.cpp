// Registered processes as `holdfast ps`, `stop` and `run` see them.
#include "registry_fixture.hpp"

namespace holdfast::registry_test {
namespace {

using Cli = RegistryTest;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A host with one registered animal; says "<id> <pid>".
struct Stage {
    std::string id;
    pid_t pid = 0;
};
Stage parse(const std::string& line) {
    std::size_t blank = line.find(' ');
    return blank == std::string::npos ? Stage{line, 0}
                                      : Stage{line.substr(0, blank), std::stoi(line.substr(blank))};
}

class RegisteredStop : public RegistryTest {
protected:
    [[nodiscard]] std::function<std::string()> host(std::string animal) const {
        return [=, this]() -> std::string {
            auto* registry = new Registry(open());
            pid_t pid = start_and_let_go(animal);
            auto one = registry->register_process(pid, {.label = "worker", .session = "S"});
            return one ? one->id + " " + std::to_string(pid) : one.error().message;
        };
    }
};

TEST_F(Cli, PsShowsThemWithTheirTree) {
    Registry registry = open();
    Animal launcher = start("launcher");
    auto one =
        registry.register_process(launcher.child.pid(), {.label = "tool", .session = "S", .task = "T"});
    ASSERT_TRUE(one);
    std::string shown = holdfast({"ps", "--json"});
    EXPECT_TRUE(has(shown, "\"id\":\"" + one->id + "\"")) << shown;
    EXPECT_TRUE(has(shown, "\"state\":\"running\""));
    EXPECT_TRUE(has(shown, "\"pid\":" + std::to_string(launcher.child.pid())));
    EXPECT_TRUE(has(shown, "\"host_pid\":" + std::to_string(::getpid())));
    EXPECT_TRUE(has(shown, "\"processes\":" + std::to_string(launcher.pids.size()))) << shown;
    EXPECT_FALSE(has(shown, "\"memory_bytes\":0")) << shown;
    EXPECT_TRUE(has(shown, "\"registered\":true"));
    EXPECT_TRUE(has(holdfast({"ps", "--session", "S"}), one->id));
    EXPECT_FALSE(has(holdfast({"ps", "--session", "other"}), one->id));
    std::string tree = holdfast({"ps", "--tree"});
    for (pid_t pid : launcher.pids)
        EXPECT_TRUE(has(tree, " " + std::to_string(pid) + "  ")) << tree;
    ASSERT_TRUE(registry.end(one->id));
    shown = holdfast({"ps", "--json"});
    EXPECT_TRUE(has(shown, "\"state\":\"ended\"")) << shown;
    EXPECT_TRUE(has(shown, "\"exit_status\":"));
    EXPECT_TRUE(has(holdfast({"events"}), "registered"));
    EXPECT_TRUE(has(holdfast({"events"}), "exited"));
}

TEST_F(RegisteredStop, EndsTheProcessAndNotItsHost) {
    Host owner(host("timer_holder"));
    Stage stage = parse(owner.line());
    ASSERT_GT(stage.pid, 0) << stage.id;
    std::string said = holdfast({"stop", stage.id});
    EXPECT_TRUE(has(said, "stopped worker")) << said;
    EXPECT_FALSE(lives(stage.pid));
    EXPECT_TRUE(owner.alive()) << "the host that registered it lives on";
    EXPECT_TRUE(has(holdfast({"stop", "--all"}), "nothing to stop"));
    EXPECT_TRUE(has(holdfast({"stop", stage.id}), "nothing to stop")) << "known, and ended";
}

TEST_F(RegisteredStop, BySessionAtOnceWithWhatIsBelow) {
    Host owner(host("launcher"));
    Stage stage = parse(owner.line());
    ASSERT_GT(stage.pid, 0) << stage.id;
    auto below = harness::descendants(stage.pid);
    ASSERT_FALSE(below.empty());
    EXPECT_TRUE(has(holdfast({"stop", "--session", "S", "--now"}), "stopped worker"));
    EXPECT_FALSE(lives(stage.pid));
    EXPECT_FALSE(lives(below[0].pid));
    EXPECT_TRUE(owner.alive());
}

TEST_F(RegisteredStop, KillsWhatDoesNotListen) {
    Host owner(host("term_ignorer"));
    Stage stage = parse(owner.line());
    ASSERT_GT(stage.pid, 0) << stage.id;
    EXPECT_TRUE(has(holdfast({"stop", "worker", "--grace", "100ms"}), "stopped worker"));
    EXPECT_FALSE(lives(stage.pid));
    EXPECT_TRUE(owner.alive());
}

TEST_F(RegisteredStop, OfADeadHostClearsTheEntryAway) {
    Host owner(host("timer_holder"));
    Stage stage = parse(owner.line());
    ASSERT_GT(stage.pid, 0) << stage.id;
    owner.kill();
    std::string shown = holdfast({"ps", "--json"});
    EXPECT_TRUE(has(shown, "\"state\":\"abandoned\"")) << shown;
    EXPECT_TRUE(has(shown, "\"holders\":0"));
    EXPECT_TRUE(has(holdfast({"stop", stage.id}), "stopped worker"));
    EXPECT_FALSE(lives(stage.pid));
    EXPECT_EQ(files(), 0U);
}

TEST_F(RegisteredStop, TheNextRunLeavesThemToTheirHost) {
    Host owner(host("timer_holder"));
    Stage stage = parse(owner.line());
    ASSERT_GT(stage.pid, 0) << stage.id;
    owner.kill();
    (void)holdfast({"run", "--", "/bin/true"}); // sweeps what double kills left
    EXPECT_TRUE(lives(stage.pid));
    EXPECT_EQ(files(), 2U);
    Registry registry = open();
    EXPECT_EQ(registry.adopt_or_reap_after_restart(AfterRestart::adopt)->adopted.size(), 1U);
}

TEST_F(RegisteredStop, TheNextRunClearsWhatIsOfAnEarlierBoot) {
    Host owner(host("timer_holder"));
    Stage stage = parse(owner.line());
    ASSERT_GT(stage.pid, 0) << stage.id;
    owner.kill();
    std::string path = directory() + "/" + stage.id + ".json";
    std::string text = harness::read_file(path).value_or("");
    std::size_t at = text.find("\"process\":{\"boot_id\":\"");
    ASSERT_NE(at, std::string::npos) << text;
    text[at + 22] = text[at + 22] == '0' ? '1' : '0'; // another boot
    ASSERT_TRUE(harness::write_file(path, text));
    (void)holdfast({"run", "--", "/bin/true"});
    EXPECT_EQ(files(), 0U);
    EXPECT_TRUE(lives(stage.pid)) << "whoever has the number now is somebody else";
}

} // namespace
} // namespace holdfast::registry_test
