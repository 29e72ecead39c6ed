// Life that is held on to where no mark leads: by a helper with a mark of another, in another profile, of
// another user, or one that only root may inspect. The lock tells that it is held. G11: nobody says "stopped"
// before it is free. G2: the next start ends what it may, and else says what is in its way.
#include "keep/fixture.hpp"
#include "keep/ordinary_user.hpp"

namespace holdfast::harness {

namespace {

// Far more than what a command takes that does not wait for anybody, and less than the 12 s and 24 s for
// which one once looked for those that it could not find.
constexpr std::chrono::seconds at_once{9};

struct Way {
    std::string name;
    bool needs_root = false;
    Words (*command)(const OrdinaryUser&) = nullptr;
};

void PrintTo(const Way& way, std::ostream* out) {
    *out << way.name;
}

const std::vector<Way> ways{
    {.name = "NestedInAnotherProfile",
     .command =
         [](const OrdinaryUser& user) {
             return Words{user.holdfast_path(), "run",   "--host", "none", "-p", "other",
                          "--contain",          "plain", "--"} +
                    user.animal("timer_holder");
         }},
    {.name = "WithAForeignMark",
     .command =
         [](const OrdinaryUser& user) {
             return Words{"/usr/bin/env", "HOLDFAST_MARK=0123456789ab"} + user.animal("timer_holder");
         }},
    {.name = "NotDumpable", .command = [](const OrdinaryUser& user) { return user.animal("undumpable"); }},
    {.name = "NotDumpableWithAChild",
     .command = [](const OrdinaryUser& user) { return user.animal("undumpable", {"--child"}); }},
    {.name = "OfAnotherUserSeenByRoot",
     .needs_root = true,
     .command =
         [](const OrdinaryUser& user) { return OrdinaryUser::become() + user.animal("timer_holder"); }},
};

class HeldOn : public testing::TestWithParam<Way> {
protected:
    void SetUp() override {
        if (GetParam().needs_root && !OrdinaryUser::tests_are_root())
            GTEST_SKIP() << "only root may change its user";
    }
    void leave() {
        user.start({"--slot", "s"}, GetParam().command(user), !GetParam().needs_root);
        ASSERT_FALSE(HasFatalFailure());
        user.kill_all_guards();
        ASSERT_TRUE(user.animals().front().alive()) << "or there would be nothing to end";
    }
    void expect_all_ended() const {
        for (const Other& animal : user.animals())
            EXPECT_FALSE(animal.alive()) << "process " << animal.pid();
    }
    Finished holdfast(const Words& words) const { return user.run(words, !GetParam().needs_root); }
    OrdinaryUser user;
};

TEST_P(HeldOn, G11AStopEndsIt) {
    leave();
    ASSERT_FALSE(HasFatalFailure());
    const auto stop = holdfast({"stop", "s"});
    EXPECT_TRUE(stop.status.exited_with(0)) << stop.err;
    EXPECT_EQ(stop.out, "stopped slot s\n");
    expect_all_ended();
}

TEST_P(HeldOn, G2TheNextStartOfItsSlotEndsIt) {
    for (const char* policy : {"refuse", "wait", "attach"}) {
        leave();
        ASSERT_FALSE(HasFatalFailure());
        const auto next = holdfast({"run", "--host", "none", "--slot", "s", "--if-held", policy, "--wait",
                                    "9s", "--", "/bin/echo", "it runs"});
        EXPECT_TRUE(next.status.exited_with(0)) << policy << ": " << next.err;
        EXPECT_EQ(next.out, "it runs\n");
        expect_all_ended();
    }
}

TEST_P(HeldOn, G4SoDoesAnyStartOfTheProfile) {
    leave();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(holdfast({"run", "--host", "none", "--", "/bin/true"}).status.exited_with(0));
    expect_all_ended();
}

INSTANTIATE_TEST_SUITE_P(Ways, HeldOn, testing::ValuesIn(ways),
                         [](const auto& way) { return way.param.name; });

// A grandchild that is not dumpable, of a command that has ended: nothing that its own user may read leads to
// it.
class Hidden : public testing::Test {
protected:
    void leave(const Words& how = {}, const Words& options = {}) {
        user.start(Words{"--slot", "s"} + options, user.animal("undumpable", Words{"--orphan"} + how));
        ASSERT_FALSE(HasFatalFailure());
        user.kill_all_guards();
        ASSERT_TRUE(daemon().alive());
    }
    [[nodiscard]] const Other& daemon() const { return user.animals().back(); }
    void expect_it_is_named(const std::string& text) const {
        EXPECT_NE(text.find("this user may not inspect"), std::string::npos) << text;
        EXPECT_NE(text.find("process " + std::to_string(daemon().pid())), std::string::npos) << text;
        EXPECT_NE(text.find("holdfast stop s --slot-dir " + user.slots()), std::string::npos) << text;
    }
    // Within `at_once`, which is what the test is about.
    Finished soon(const Words& words) const {
        auto done = run_to_end(user.command(words), Deadline::in(at_once));
        EXPECT_TRUE(done) << done.error().message;
        return done ? std::move(*done) : Finished{};
    }
    OrdinaryUser user;
};

TEST_F(Hidden, G11AStopDoesNotSayStopped) {
    for (const Words& how : {Words{}, Words{"--session"}}) {
        leave(how);
        ASSERT_FALSE(HasFatalFailure());
        for (const Words& words : {Words{"stop", "s"}, Words{"stop", "s", "--now"}}) {
            const auto stop = soon(words);
            EXPECT_TRUE(stop.status.exited_with(71)) << stop.out << stop.err;
            EXPECT_EQ(stop.out, "");
            expect_it_is_named(stop.err);
        }
        EXPECT_NE(soon({"stop", "s", "--json"}).out.find("\"stopped\":false"), std::string::npos);
        daemon().signal(SIGKILL);
        EXPECT_TRUE(daemon().ended());
        const auto gone = soon({"stop", "s"});
        EXPECT_TRUE(gone.status.exited_with(0)) << gone.err;
    }
}

TEST_F(Hidden, G2AStartSaysWhatIsInItsWay) {
    leave();
    ASSERT_FALSE(HasFatalFailure());
    for (const char* policy : {"refuse", "attach", "replace"}) {
        const auto next =
            soon({"run", "--host", "none", "--slot", "s", "--if-held", policy, "--", "/bin/true"});
        EXPECT_TRUE(next.status.exited_with(71)) << policy << ": " << next.err;
        expect_it_is_named(next.err);
    }
    EXPECT_TRUE(daemon().alive());
}

TEST_F(Hidden, G2OneThatWaitsSaysSoAndRunsWhenItHasEnded) {
    leave();
    ASSERT_FALSE(HasFatalFailure());
    auto waiter = Child::spawn(user.command(
        {"run", "--host", "none", "--slot", "s", "--if-held", "wait", "--", "/bin/echo", "it runs"}));
    ASSERT_TRUE(waiter);
    const auto said = waiter->err().read_line(Deadline::in(at_once));
    ASSERT_TRUE(said) << said.error().message;
    expect_it_is_named(*said);
    EXPECT_TRUE(waiter->alive());
    daemon().signal(SIGKILL);
    const auto ran = waiter->out().read_line(Deadline::in(patience));
    EXPECT_TRUE(ran && *ran == "it runs");
    EXPECT_TRUE(waiter->wait(Deadline::in(patience))->exited_with(0));
}

TEST_F(Hidden, OtherStartsOfTheProfileDoNotWaitForIt) {
    leave();
    ASSERT_FALSE(HasFatalFailure());
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(soon({"run", "--host", "none", "--", "/bin/true"}).status.exited_with(0));
    EXPECT_TRUE(soon({"run", "--host", "none", "--slot", "t", "--", "/bin/true"}).status.exited_with(0));
    EXPECT_TRUE(daemon().alive());
}

TEST_F(Hidden, TheCommandForRootEndsIt) {
    if (!OrdinaryUser::tests_are_root())
        GTEST_SKIP() << "there is no root at hand";
    leave();
    ASSERT_FALSE(HasFatalFailure());
    const auto stop = user.run({"stop", "s", "--slot-dir", user.slots()}, false);
    EXPECT_TRUE(stop.status.exited_with(0)) << stop.err;
    EXPECT_FALSE(daemon().alive());
    EXPECT_TRUE(soon({"run", "--host", "none", "--slot", "s", "--", "/bin/true"}).status.exited_with(0));
}

// A command that has become root's under living guards: its user may signal it as little as look at it.
class OfRoot : public testing::Test {
protected:
    void SetUp() override {
        if (!OrdinaryUser::tests_are_root())
            GTEST_SKIP() << "only root can make a program that everybody runs as root";
        user.start({"--slot", "s", "--stop", "now"}, user.animal_of_root("timer_holder"));
        ASSERT_FALSE(HasFatalFailure());
        process = "process " + std::to_string(user.animals().front().pid()) + " (";
    }
    // What is shown behind the process, up to the next bracket.
    [[nodiscard]] std::string said_of_it(const std::string& text) const {
        const auto at = text.find(process);
        return at == text.npos ? "" : text.substr(at, text.find(')', at) - at);
    }
    OrdinaryUser user;
    std::string process;
};

TEST_F(OfRoot, G11AStopNamesItWithTheReasonForWhichItLives) {
    const auto stop = user.run({"stop", "s"});
    EXPECT_TRUE(stop.status.exited_with(71)) << to_string(stop.status) << stop.out << stop.err;
    EXPECT_EQ(stop.out, "");
    EXPECT_NE(said_of_it(stop.err).find("of root"), std::string::npos) << stop.err;
    EXPECT_NE(stop.err.find("holdfast stop s --slot-dir " + user.slots()), std::string::npos) << stop.err;
    const auto front = user.front().err().read_line(Deadline::in(patience));
    ASSERT_TRUE(front);
    EXPECT_NE(said_of_it(*front).find("of root, whose processes this user may not signal"), std::string::npos)
        << *front;
    // What can be done now is said, and nothing else.
    const auto status = user.run({"status", "s"});
    EXPECT_TRUE(status.status.exited_with(4)) << status.err;
    EXPECT_NE(said_of_it(status.out).find("of root"), std::string::npos) << status.out;
    EXPECT_EQ(status.out.find("the next start sees to them"), std::string::npos) << status.out;
    // Root is told which it is. It is none of the slot's user: he may have made root's process hold the life.
    const auto root = user.run({"stop", "s", "--slot-dir", user.slots()}, false);
    EXPECT_TRUE(root.status.exited_with(71)) << root.out << root.err;
    EXPECT_NE(root.err.find("kill -KILL " + std::to_string(user.animals().front().pid())), std::string::npos)
        << root.err;
    EXPECT_TRUE(user.animals().front().alive());
}

// What is spared is no failure, found or not.
TEST_F(Hidden, ASparedOneIsLeftAloneAndNoFailure) {
    leave({}, {"--spare", "undumpable.*--orphan"});
    ASSERT_FALSE(HasFatalFailure());
    const auto stop = soon({"stop", "s"});
    EXPECT_TRUE(stop.status.exited_with(0)) << stop.err;
    EXPECT_TRUE(soon({"run", "--host", "none", "--slot", "s", "--", "/bin/true"}).status.exited_with(0));
    EXPECT_TRUE(daemon().alive());
}

// Negative control: a mark of its own and no life is nobody's leftover.
TEST_F(Hidden, AStrangerWithAForeignMarkIsLeftAlone) {
    auto spec = user.command({});
    spec.argv = OrdinaryUser::become() + user.animal("timer_holder");
    spec.env.emplace_back("HOLDFAST_MARK=0123456789ab");
    std::erase_if(spec.env,
                  [](const std::string& one) { return one.starts_with("ZOO_REPORT="); }); // the daemon's
    auto stranger = Child::spawn(spec);
    ASSERT_TRUE(stranger);
    leave();
    ASSERT_FALSE(HasFatalFailure());
    const auto stop = soon({"stop", "s"});
    EXPECT_TRUE(stop.status.exited_with(71)) << to_string(stop.status) << stop.out << stop.err;
    EXPECT_TRUE(daemon().alive());
    EXPECT_TRUE(stranger->alive());
}

} // namespace

} // namespace holdfast::harness
