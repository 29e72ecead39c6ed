// Each animal does what it says. A zoo that is tame proves nothing.
#include "zoo_fixture.hpp"

#include <sys/wait.h>

namespace holdfast::harness {
namespace {

TEST_F(Zoo, TermIgnorerIgnoresEveryPoliteSignal) {
    auto animal = start("term_ignorer");
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1})
        ASSERT_TRUE(animal.signal(number));
    EXPECT_FALSE(animal.wait_ended(Deadline::exactly(50ms)));
    EXPECT_TRUE(animal.kill()->killed_by(SIGKILL));

    auto control = start("launcher");
    ASSERT_TRUE(control.signal(SIGTERM));
    EXPECT_TRUE(control.wait(Deadline::in(5s))->killed_by(SIGTERM)) << "control: others do end";
}

TEST_F(Zoo, DoubleForkersGrandchildIsReparented) {
    auto animal = start("double_forker");
    ASSERT_EQ(pids.size(), 2U);
    const auto grandchild = inspect(pids[1]);
    ASSERT_TRUE(grandchild);
    EXPECT_NE(grandchild->ppid, animal.pid());
    EXPECT_EQ(grandchild->pgid, animal.pid()) << "still in its group";
    for (const auto& process : descendants(animal.pid()))
        EXPECT_NE(process.pid, pids[1]) << "no walk over parents finds it";
    EXPECT_TRUE(marked(pids[1]));
    ASSERT_TRUE(animal.kill());
    EXPECT_FALSE(gone(pids[1])) << "it outlives its starter";
}

TEST_F(Zoo, DoubleForkersLeaderCanGo) {
    auto animal = start("double_forker", {"--leader-exits"});
    EXPECT_TRUE(animal.wait(Deadline::in(5s))->exited_with(0));
    EXPECT_FALSE(gone(pids.at(1)));
}

TEST_F(Zoo, SetsidDaemonHasItsOwnSessionAndNoneOfOurDescriptors) {
    auto animal = start("setsid_daemon", {"--leader-exits"});
    EXPECT_TRUE(animal.wait(Deadline::in(5s))->exited_with(0));
    const auto daemon = inspect(pids.at(1));
    ASSERT_TRUE(daemon);
    EXPECT_NE(daemon->sid, ::getsid(0));
    EXPECT_NE(daemon->pgid, animal.pid());
    EXPECT_TRUE(animal.out().read_to_end(Deadline::in(5s))) << "our pipe has no writer left";
    EXPECT_FALSE(gone(pids[1]));
    EXPECT_TRUE(marked(pids[1]));
}

TEST_F(Zoo, TimerHolderSurvivesTheEndOfItsStdin) {
    const auto file = home.dir().file("eof");
    auto animal = start("timer_holder", {"--eof-report=" + file});
    animal.close_in();
    ASSERT_TRUE(wait_for_file(file, Deadline::in(5s)));
    EXPECT_FALSE(animal.wait_ended(Deadline::exactly(250ms))) << "the timer has ticked twice meanwhile";
    ASSERT_TRUE(animal.signal(SIGTERM));
    EXPECT_TRUE(animal.wait(Deadline::in(5s))->killed_by(SIGTERM));
}

TEST_F(Zoo, StoppedStopsAndTermWaitsForCont) {
    auto animal = start("stopped");
    ASSERT_TRUE(in_state(animal.pid(), 'T'));
    ASSERT_TRUE(animal.signal(SIGTERM));
    EXPECT_FALSE(animal.wait_ended(Deadline::exactly(50ms))) << "a stopped process cannot end by itself";
    ASSERT_TRUE(animal.signal(SIGCONT));
    EXPECT_TRUE(animal.wait(Deadline::in(5s))->killed_by(SIGTERM));
}

TEST_F(Zoo, LauncherDiesAndTheServerStays) {
    auto animal = start("launcher", {"--die"});
    EXPECT_TRUE(animal.wait(Deadline::in(5s))->exited_with(0));
    EXPECT_FALSE(gone(pids.at(1)));
    EXPECT_TRUE(marked(pids[1]));
}

TEST_F(Zoo, LauncherStaysAndPassesNoSignalOn) {
    auto animal = start("launcher");
    EXPECT_EQ(inspect(pids.at(1))->ppid, animal.pid());
    ASSERT_TRUE(animal.signal(SIGTERM));
    EXPECT_TRUE(animal.wait(Deadline::in(5s))->killed_by(SIGTERM));
    EXPECT_FALSE(gone(pids[1]));
}

TEST_F(Zoo, PtyChildLeadsASessionOnATerminalAndItsChildIgnoresHup) {
    auto animal = start("pty_child");
    ASSERT_EQ(pids.size(), 3U);
    const auto leader = inspect(pids[1]);
    const auto background = inspect(pids[2]);
    ASSERT_TRUE(leader && background);
    EXPECT_EQ(leader->sid, leader->pid);
    EXPECT_EQ(background->sid, leader->pid);
    EXPECT_EQ(background->pgid, background->pid);
    const auto watch = open_pidfd(leader->pid);
    ASSERT_TRUE(watch);
    ASSERT_TRUE(animal.kill()); // the terminal hangs up
    EXPECT_TRUE(wait_pidfd(watch->get(), Deadline::in(5s))) << "the session leader gets a HUP";
    EXPECT_FALSE(gone(pids[2])) << "and its background child lives on";
}

TEST_F(Zoo, FdCloserHoldsNothing) {
    auto with_report = spec("fd_closer", {});
    with_report.env.push_back("ZOO_REPORT=" + home.dir().file("report"));
    auto animal = Child::spawn(with_report);
    ASSERT_TRUE(animal);
    const auto report = wait_for_file(home.dir().file("report"), Deadline::in(5s));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(parse_ready(*report).value(), std::vector<pid_t>{animal->pid()});
    EXPECT_TRUE(std::filesystem::is_empty("/proc/" + std::to_string(animal->pid()) + "/fd"));
    EXPECT_TRUE(animal->alive());
}

TEST_F(Zoo, OddNameBreaksNaiveParsersAndNotOurs) {
    auto animal = start("odd_name");
    const auto stat = read_file("/proc/" + std::to_string(animal.pid()) + "/stat").value();
    EXPECT_TRUE(stat.contains("(a) b (c) ")) << stat;
    const auto info = inspect(animal.pid());
    EXPECT_EQ(info->name, "a) b (c");
    EXPECT_EQ(info->ppid, ::getpid());
}

TEST_F(Zoo, EnvClearerIsFoundByItsArgumentsOnly) {
    auto animal = start("env_clearer");
    EXPECT_EQ(read_file("/proc/" + std::to_string(animal.pid()) + "/environ").value(), "");
    EXPECT_TRUE(marked(animal.pid()));

    auto forking = start("env_clearer", {"--fork"});
    ASSERT_EQ(pids.size(), 2U);
    EXPECT_EQ(pids[1], forking.pid());
    EXPECT_EQ(read_file("/proc/" + std::to_string(pids[0]) + "/environ").value(), "");
    EXPECT_TRUE(marked(pids[0]));
}

TEST_F(Zoo, CarelessParentKeepsAZombie) {
    auto animal = start("careless_parent");
    EXPECT_EQ(inspect(pids.at(1))->state, 'Z');
    EXPECT_EQ(inspect(pids[1])->ppid, animal.pid());
    EXPECT_FALSE(animal.wait_ended(Deadline::exactly(30ms)));
    EXPECT_EQ(inspect(pids[1])->state, 'Z') << "nobody reaps it";

    auto dying = start("careless_parent", {"--die-after-ms=10"});
    EXPECT_TRUE(dying.wait(Deadline::in(5s))->exited_with(0));
}

TEST_F(Zoo, EveryAnimalEndsWithItsLifeHoweverItResists) {
    struct Case {
        const char* name;
        std::vector<std::string> words;
    };
    const Case cases[] = {{"term_ignorer", {}},  {"stopped", {"--ignore-term"}},
                          {"double_forker", {}}, {"setsid_daemon", {}},
                          {"fd_closer", {}},     {"pty_child", {}},
                          {"env_clearer", {}},   {"launcher", {"--die"}}};
    std::vector<Child> animals;
    for (const auto& [name, words] : cases) {
        auto with_life = words;
        with_life.push_back("--life=2");
        animals.push_back(start(name, with_life));
    }
    EXPECT_GE(marked_processes(home.mark().token()).size(), std::size(cases)) << "control: they do live";
    EXPECT_TRUE(home.mark().survivors(Deadline::in(15s)).empty());
    EXPECT_TRUE(animals[0].wait(Deadline::in(1s))->killed_by(SIGKILL));
    EXPECT_TRUE(animals[1].wait(Deadline::in(1s))->killed_by(SIGKILL)) << "a stopped one too";
}

} // namespace
} // namespace holdfast::harness
