// Signals to `holdfast run`: as if the command had been started directly. TERM alone begins the stop plan.
#include "keep/fixture.hpp"
#include "keep/terminal.hpp"

#include <optional>

namespace holdfast::harness {

namespace {

const Words at_once{"--stop", "now"};

// What is passed on and ends nothing, as docs/run.md states it.
std::vector<int> forwarded() {
    std::vector<int> out{SIGHUP,   SIGINT, SIGQUIT, SIGUSR1,   SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF,
                         SIGWINCH, SIGIO,  SIGPWR,  SIGSTKFLT, SIGXCPU, SIGXFSZ, SIGURG};
    for (int number = SIGRTMIN; number <= SIGRTMAX; ++number)
        out.push_back(number);
    return out;
}

std::string heard(int number, int count) {
    return "signal " + std::to_string(number) + " " + std::to_string(count);
}

bool in_state(pid_t pid, char state) {
    return eventually(Deadline::in(patience), [&] {
        const auto info = inspect(pid);
        return info && info->state == state;
    });
}

class Signals : public Keep {
protected:
    void start(const char* containment, const Words& command, const Words& more = {}) {
        scene.start({.holdfast = at_once + Words{"--contain", containment} + more, .command = command});
    }
    void end() {
        scene.front().signal(SIGTERM);
        EXPECT_EQ(scene.status(), 128 + SIGKILL);
        expect_nothing_left();
    }
};

// The count in the helper's words grows by one with each: none came twice, and none was lost.
TEST_F(Signals, EachIsForwardedOnceAndEndsNothing) {
    for (const char* containment : {"plain", "pidns"}) {
        start(containment, home.animal("signal_teller"));
        ASSERT_FALSE(HasFatalFailure());
        int so_far = 0;
        for (const int number : forwarded()) {
            scene.front().signal(number);
            ASSERT_EQ(next_line(), heard(number, ++so_far)) << containment;
        }
        EXPECT_TRUE(scene.front().alive());
        end();
    }
}

// More than the socket between front and keeper holds: signals are not lost on the way.
TEST_F(Signals, RealTimeOnesKeepTheirNumberOrderAndValues) {
    constexpr int many = 2000;
    for (const char* containment : {"plain", "pidns"}) {
        start(containment, home.animal("signal_teller", {"--values"}));
        ASSERT_FALSE(HasFatalFailure());
        scene.keeper().freeze();
        for (int value = 0; value < many; ++value)
            scene.front().queue(SIGRTMIN + 5, value);
        scene.keeper().signal(SIGCONT);
        for (int value = 0; value < many; ++value)
            ASSERT_EQ(next_line(), heard(SIGRTMIN + 5, value + 1) + " value " + std::to_string(value))
                << containment;
        end();
    }
}

// And a stop does not wait for them.
TEST_F(Signals, AStopIsHeardBehindAFloodOfThem) {
    start("plain", home.animal("signal_teller"));
    ASSERT_FALSE(HasFatalFailure());
    scene.keeper().freeze();
    for (int value = 0; value < 2000; ++value)
        scene.front().queue(SIGRTMAX, value);
    end(); // continues the keeper
}

TEST_F(Signals, ADaemonThatReloadsOnHangUpLivesOn) {
    start("plain", sh("trap 'echo reloaded' HUP; trap 'exit 7' INT; echo ready $$ >\"$ZOO_REPORT.tmp\"; mv "
                      "\"$ZOO_REPORT.tmp\" \"$ZOO_REPORT\"; while :; do sleep 0.02; done"));
    ASSERT_FALSE(HasFatalFailure());
    for (int i = 0; i < 3; ++i) {
        scene.front().signal(SIGHUP);
        EXPECT_EQ(next_line(), "reloaded");
    }
    scene.front().signal(SIGINT);
    EXPECT_EQ(scene.status(), 7); // the command decides
    expect_nothing_left();
}

TEST_F(Signals, WhatTheCommandDoesNotHandleEndsItAsWithoutUs) {
    for (const int number : {SIGHUP, SIGINT, SIGUSR1, SIGPROF, SIGRTMIN + 3}) {
        start("plain", home.animal("timer_holder"));
        ASSERT_FALSE(HasFatalFailure());
        scene.front().signal(number);
        EXPECT_EQ(scene.status(), 128 + number);
        expect_nothing_left();
    }
}

TEST_F(Signals, StopSignalsStopCommandAndFrontAndContContinuesBoth) {
    const std::vector<Words> kinds{{"--contain", "plain"},
                                   {"--contain", "pidns"},
                                   {"--contain", "plain", "--pty"},
                                   {"--contain", "pidns", "--pty"}};
    for (const Words& kind : kinds) {
        scene.start({.holdfast = at_once + kind, .command = home.animal("timer_holder")});
        ASSERT_FALSE(HasFatalFailure());
        // In a PID namespace the animal reports the number that it has there.
        const auto below = descendants(scene.keeper().pid());
        ASSERT_FALSE(below.empty());
        const pid_t command = below.back().pid;
        for (const int number : {SIGTSTP, SIGTTIN, SIGTTOU}) {
            scene.front().signal(number);
            EXPECT_TRUE(in_state(command, 'T')) << number << " " << kind[1];
            EXPECT_TRUE(in_state(scene.front().pid(), 'T')) << number << " " << kind[1];
            scene.front().signal(SIGCONT);
            EXPECT_TRUE(in_state(command, 'S')) << number << " " << kind[1];
            EXPECT_TRUE(in_state(scene.front().pid(), 'S')) << number << " " << kind[1];
        }
        end();
    }
}

TEST_F(Signals, ACommandThatHearsTheStopSignalsHearsEachOnce) {
    start("plain", home.animal("signal_teller"));
    ASSERT_FALSE(HasFatalFailure());
    int so_far = 0;
    for (const int number : {SIGTSTP, SIGTTIN, SIGTTOU}) {
        scene.front().signal(number);
        EXPECT_EQ(next_line(), heard(number, ++so_far));
        EXPECT_TRUE(in_state(scene.front().pid(), 'T'));
        scene.front().signal(SIGCONT);
        EXPECT_EQ(next_line(), heard(SIGCONT, ++so_far));
    }
    // Nobody had stopped the front: it is passed on all the same.
    scene.front().signal(SIGCONT);
    EXPECT_EQ(next_line(), heard(SIGCONT, ++so_far));
    end();
}

TEST_F(Signals, SomeAreTheFrontsOwn) {
    start("plain", home.animal("signal_teller"));
    ASSERT_FALSE(HasFatalFailure());
    for (const int number : {SIGPIPE, SIGCHLD})
        scene.front().signal(number);
    scene.front().signal(SIGUSR1);
    EXPECT_EQ(next_line(), heard(SIGUSR1, 1));
    scene.front().signal(SIGSEGV); // a fault: the front dies, and the keeper ends the tree
    EXPECT_EQ(scene.status(), 128 + SIGSEGV);
    expect_nothing_left();
}

// What whoever started us ignored, the command ignores as it would without us; if it has a use for such a
// signal, it gets it.
TEST_F(Signals, IgnoredOnesStayIgnoredUnlessTheCommandHandlesThem) {
    for (const char* ignored : {"", "trap '' HUP INT QUIT; "}) {
        auto plain = home.command({});
        plain.argv = sh(ignored + std::string("exec grep SigIgn /proc/self/status"));
        const auto without = run_to_end(plain, Deadline::in(patience));
        plain.argv = sh(ignored + std::string("exec \"$1\" run -- grep SigIgn /proc/self/status"),
                        {program("holdfast")});
        const auto with = run_to_end(plain, Deadline::in(patience));
        ASSERT_TRUE(without && with);
        EXPECT_NE(without->out, "");
        EXPECT_EQ(with->out, without->out);
    }
    auto host = Child::spawn(home.command_of(
        "stage/keep_host", Words{"--null", "--"} +
                               sh("trap '' HUP INT QUIT; exec \"$@\"",
                                  Words{program("holdfast"), "run", "--host", "none", "--stop", "now", "--"} +
                                      home.animal("signal_teller", {"--report="}))));
    ASSERT_TRUE(host);
    const auto line = host->out().read_line(Deadline::in(patience));
    ASSERT_TRUE(line && line->starts_with("child "));
    const Other front(static_cast<pid_t>(std::stol(line->substr(6))));
    ASSERT_TRUE(host->out().read_until("ready", Deadline::in(patience)));
    ASSERT_TRUE(host->out().read_line(Deadline::in(patience)));
    int so_far = 0;
    for (const int number : {SIGHUP, SIGINT, SIGQUIT}) {
        front.signal(number);
        EXPECT_EQ(host->out().read_line(Deadline::in(patience)).value_or(""), heard(number, ++so_far));
    }
    front.signal(SIGTERM);
    EXPECT_TRUE(front.ended());
}

// A command at a terminal shares the front's process group there.
class SignalsAtTerminal : public Keep {
protected:
    void run(const Words& words) {
        auto env = home.command({}).env;
        std::erase_if(env, [](const std::string& variable) { return variable.starts_with("PS1="); });
        env.insert(env.end(), {"PS1=<prompt>", "HF=" + program("holdfast"), "ZOO=" + program("zoo"),
                               "ZOO_REPORT=" + report});
        auto opened = Terminal::run(words, env);
        ASSERT_TRUE(opened) << opened.error().message;
        terminal.emplace(std::move(*opened));
    }
    void run_in_shell(const std::string& line) {
        run({"/bin/bash", "--norc", "--noprofile", "--noediting", "-i"});
        ASSERT_FALSE(HasFatalFailure());
        expect("<prompt>");
        terminal->type("stty -echo; echo quie\"\"t\n");
        expect("quiet");
        expect("<prompt>");
        terminal->type(line + "\n");
    }
    void expect(const std::string& text) {
        const auto seen = terminal->read_until(text, Deadline::in(patience));
        EXPECT_TRUE(seen) << seen.error().message;
    }
    // A whole line, and nothing else on the screen before it.
    void expect_next(const std::string& text) {
        const auto seen = terminal->read_until("\n", Deadline::in(patience));
        EXPECT_TRUE(seen) << seen.error().message;
        EXPECT_EQ(seen.value_or(""), text + "\r\n");
    }
    // Its keeper's parent.
    Other front_of_animal(pid_t& animal) {
        const auto said = wait_for_file(report, Deadline::in(patience));
        EXPECT_TRUE(said) << said.error().message;
        const auto pids = parse_ready(said.value_or(""));
        EXPECT_TRUE(pids);
        animal = pids ? pids->front() : 0;
        const auto command = inspect(animal);
        const auto keeper = inspect(command ? command->ppid : 0);
        EXPECT_TRUE(keeper);
        return keeper ? Other(keeper->ppid) : Other();
    }
    const std::string report = home.dir().file("report");
    std::optional<Terminal> terminal;
};

TEST_F(SignalsAtTerminal, EachIsForwardedOnceAndEndsNothing) {
    run_in_shell("$HF run --stop now --contain plain -- $ZOO/signal_teller --token=$ZOO_TOKEN");
    ASSERT_FALSE(HasFatalFailure());
    pid_t animal = 0;
    const Other front = front_of_animal(animal);
    int so_far = 0;
    for (const int number : forwarded()) {
        front.signal(number);
        expect_next(heard(number, ++so_far));
    }
    for (const int number : {SIGTSTP, SIGTTIN, SIGTTOU}) {
        front.signal(number);
        expect(heard(number, ++so_far) + "\r\n"); // between words of the shell
        EXPECT_TRUE(in_state(front.pid(), 'T'));
        front.signal(SIGCONT);
        EXPECT_TRUE(in_state(front.pid(), 'S'));
    }
    EXPECT_TRUE(is_alive(animal));
    front.signal(SIGTERM);
    EXPECT_TRUE(front.ended());
    EXPECT_FALSE(is_alive(animal));
}

// What the kernel sends to the terminal's foreground group has come to the command by itself. In a PID
// namespace two more processes of ours are in that group.
TEST_F(SignalsAtTerminal, WhatTheKernelSendsIsNotForwardedAgain) {
    for (const std::string containment : {"plain", "pidns"}) {
        run_in_shell("$HF run --stop now --contain " + containment +
                     " -- $ZOO/signal_teller --token=$ZOO_TOKEN --report=");
        ASSERT_FALSE(HasFatalFailure());
        expect("ready");
        expect("\n");
        int so_far = 0;
        for (int i = 0; i < 2; ++i) {
            terminal->type("\x03"); // Ctrl-C
            expect_next(heard(SIGINT, ++so_far));
            terminal->type("\x1c"); // Ctrl-backslash
            expect_next(heard(SIGQUIT, ++so_far));
            terminal->resize(30, static_cast<unsigned short>(90 + i));
            expect_next(heard(SIGWINCH, ++so_far));
        }
        terminal->hang_up();
        expect_nothing_left();
    }
}

// Nobody tells the others of a terminal's group that it was hung up: only the leader of the session hears it.
TEST_F(SignalsAtTerminal, AHangUpIsToldByTheLeaderOfTheSession) {
    const std::string told = home.dir().file("told");
    run({program("holdfast"), "run", "--stop", "eof:60s,kill", "--", "/bin/sh", "-c",
         "trap 'echo hung up >\"$1\"; exit' HUP; echo u\"\"p; while :; do sleep 0.02; done", "sh", told});
    ASSERT_FALSE(HasFatalFailure());
    expect("up");
    terminal->hang_up();
    EXPECT_TRUE(wait_for_file(told, Deadline::in(patience)));
    expect_nothing_left();
}

// As the terminal's only job there is no shell to continue it: without Holdfast the kernel lets nothing stop.
TEST_F(SignalsAtTerminal, CtrlZStopsNothingThatNobodyCouldContinue) {
    run({program("holdfast"), "run", "--", "/bin/cat"});
    ASSERT_FALSE(HasFatalFailure());
    terminal->type("one\n");
    expect("one\r\none\r\n");
    for (int i = 0; i < 5; ++i) {
        terminal->type("\x1a");
        terminal->type("two\n");
        expect("two\r\ntwo\r\n");
    }
    terminal->type("\x04");
    const auto status = terminal->wait(Deadline::in(patience));
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_TRUE(status->exited_with(0)) << to_string(*status);
}

// Stopped together by the terminal, and continued through the front alone.
TEST_F(SignalsAtTerminal, ContToTheFrontContinuesTheCommand) {
    // Not one that reads the terminal: in the background it would be stopped for that.
    run_in_shell("$HF run --stop now -- $ZOO/double_forker --token=$ZOO_TOKEN");
    ASSERT_FALSE(HasFatalFailure());
    pid_t animal = 0;
    const Other front = front_of_animal(animal);
    terminal->type("\x1a");
    expect("<prompt>");
    EXPECT_TRUE(in_state(animal, 'T'));
    front.signal(SIGCONT);
    EXPECT_TRUE(in_state(front.pid(), 'S'));
    EXPECT_TRUE(in_state(animal, 'S'));
}

// A read from the background stops the whole job, and it goes on in the foreground.
TEST_F(SignalsAtTerminal, AReadFromTheBackgroundStopsTheJob) {
    run_in_shell("$HF run -- $ZOO/echo_server --token=$ZOO_TOKEN &");
    ASSERT_FALSE(HasFatalFailure());
    pid_t animal = 0;
    const Other front = front_of_animal(animal);
    EXPECT_TRUE(in_state(animal, 'T'));
    EXPECT_TRUE(in_state(front.pid(), 'T'));
    terminal->type("fg\n");
    expect("echo_server");
    EXPECT_TRUE(in_state(front.pid(), 'S'));
    EXPECT_TRUE(in_state(animal, 'S'));
    terminal->type("three\n");
    expect("echo three");
    terminal->type("\x04");
    expect("<prompt>");
}

} // namespace

} // namespace holdfast::harness
