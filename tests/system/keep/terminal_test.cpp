// At a terminal: job control, Ctrl-C, hang-up; and --pty, for helpers that need a terminal of their own.
#include "keep/fixture.hpp"
#include "keep/terminal.hpp"

#include <thread>
#include <utility>

namespace holdfast::harness {

namespace {

class AtTerminal : public Keep {
protected:
    // A shell with nothing in its start-up files and a prompt that nothing else prints.
    void SetUp() override {
        auto env = home.command({}).env;
        std::erase_if(env, [](const std::string& variable) {
            return variable.starts_with("PS1=") || variable.starts_with("TERM=");
        });
        env.insert(env.end(), {"PS1=<prompt>", "TERM=dumb", "ZOO_REPORT=" + report,
                               "HF=" + program("holdfast"), "ZOO=" + program("zoo")});
        auto opened = Terminal::run({"/bin/bash", "--norc", "--noprofile", "--noediting", "-i"}, env);
        ASSERT_TRUE(opened) << opened.error().message;
        terminal.emplace(std::move(*opened));
        expect("<prompt>");
    }
    void expect(const std::string& text) {
        const auto seen = terminal->read_until(text, Deadline::in(patience));
        EXPECT_TRUE(seen) << seen.error().message;
    }
    void type(const std::string& line) { terminal->type(line + "\n"); }
    // The animal's own number, once it is ready.
    pid_t animal() {
        const auto said = wait_for_file(report, Deadline::in(patience));
        EXPECT_TRUE(said) << said.error().message;
        const auto pids = parse_ready(said.value_or(""));
        EXPECT_TRUE(pids);
        return pids ? pids->front() : 0;
    }
    static bool in_state(pid_t pid, char state) {
        return eventually(Deadline::in(patience), [&] {
            const auto info = inspect(pid);
            return info && info->state == state;
        });
    }
    const std::string report = home.dir().file("report");
    std::optional<Terminal> terminal;
};

TEST_F(AtTerminal, TheHelperIsAJobLikeAnyOther) {
    type("$HF run -- $ZOO/echo_server --token=$ZOO_TOKEN");
    const pid_t helper = animal();
    type("one");
    expect("echo one");
    terminal->type("\x1a"); // Ctrl-Z
    expect("Stopped");
    expect("<prompt>");
    EXPECT_TRUE(in_state(helper, 'T'));
    type("fg");
    EXPECT_TRUE(in_state(helper, 'S'));
    type("two");
    expect("echo two");
    terminal->type("\x04"); // Ctrl-D
    expect("<prompt>");
    type("echo status=$?.");
    expect("status=0.");
    EXPECT_FALSE(is_alive(helper));
}

// Each Ctrl-Z right after the fg before it: the front may still be at that.
TEST_F(AtTerminal, ItCanBeStoppedAgainAndAgain) {
    type("$HF run -- $ZOO/timer_holder --token=$ZOO_TOKEN");
    const pid_t helper = animal();
    for (int i = 0; i < 12; ++i) {
        terminal->type("\x1a");
        expect("Stopped");
        expect("<prompt>");
        EXPECT_TRUE(in_state(helper, 'T'));
        type("fg");
        expect("timer_holder"); // the shell says what it continues
        EXPECT_TRUE(in_state(helper, 'S'));
    }
    terminal->type("\x03");
    expect("<prompt>");
    type("echo status=$?.");
    expect("status=130.");
    EXPECT_FALSE(is_alive(helper));
}

TEST_F(AtTerminal, CtrlCIsTheHelpersToAnswer) {
    type("$HF run -- sh -c 'ulimit -c 0; trap \"echo caught\" INT; echo u\"\"p; while :; do sleep 0.05; "
         "done'");
    expect("up");
    for (int i = 0; i < 2; ++i) {
        terminal->type("\x03");
        expect("caught");
    }
    terminal->type("\x1c"); // Ctrl-backslash, which it does not handle
    expect("<prompt>");
    type("echo status=$?.");
    expect("status=131.");
}

TEST_F(AtTerminal, AHangUpEndsAll) {
    type("$HF run --stop eof:50ms,term:50ms,kill -- $ZOO/double_forker --token=$ZOO_TOKEN");
    const pid_t helper = animal();
    EXPECT_TRUE(is_alive(helper));
    terminal->hang_up();
    expect_nothing_left();
}

TEST_F(AtTerminal, AHangUpEndsWhatIgnoresItToo) {
    type("$HF run --stop eof:50ms,term:50ms,kill -- $ZOO/term_ignorer --token=$ZOO_TOKEN");
    (void)animal();
    terminal->hang_up();
    expect_nothing_left();
}

TEST_F(AtTerminal, APipelineEndsWithItsReader) {
    type("sleep 3600 | $HF run --stop now -- $ZOO/timer_holder --token=$ZOO_TOKEN");
    const pid_t helper = animal();
    terminal->type("\x03");
    expect("<prompt>");
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return !is_alive(helper); }));
}

TEST_F(AtTerminal, APtyWithinTheTerminalIsRelayed) {
    type("stty -echo; $HF run --pty -- bash --norc --noprofile -c 'stty size; echo u\"\"p; read -r line; "
         "echo \"got $line\"; exit 5'");
    expect("24 200");
    expect("up");
    type("hello");
    expect("got hello");
    expect("<prompt>");
    type("echo status=$?. $(stty -a | grep -o -- '-*icanon')");
    expect("status=5. icanon"); // the user's terminal has its settings back
}

class PtyOption : public Keep {};

TEST_F(PtyOption, GivesATerminalAndTheExitStatus) {
    auto spec = home.command({"run", "--pty", "--", "/bin/sh", "-c",
                              "test -t 0 && test -t 1 && test -t 2 && echo terminal; exit 3"});
    spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    const auto said = child->out().read_to_end(Deadline::in(patience));
    ASSERT_TRUE(said);
    EXPECT_EQ(*said, "terminal\r\n");
    const auto status = child->wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(3)) << to_string(*status);
}

TEST_F(PtyOption, TheWholeSessionIsEnded) {
    scene.start({.holdfast = quickly + Words{"--pty"}, .command = home.animal("pty_child")});
    ASSERT_FALSE(HasFatalFailure());
    scene.front().signal(SIGTERM);
    expect_nothing_left();
}

TEST_F(PtyOption, TheHostsDeathEndsIt) {
    scene.start({.holdfast = quickly + Words{"--pty"}, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

TEST_F(PtyOption, TheHostsEndOfInputIsTheTerminals) {
    scene.start(
        {.holdfast = {"--stop", "eof:1h,term:1h,kill", "--pty"}, .command = home.animal("echo_server")});
    ASSERT_FALSE(HasFatalFailure());
    scene.tell_host('c');
    EXPECT_EQ(scene.status(), 0);
}

// /dev/null and files have no writer who could let go: their end is no reason to end the helper.
TEST_F(PtyOption, NoInputAtAllIsNoReasonToEnd) {
    scene.start(
        {.host = {"--null"}, .holdfast = quickly + Words{"--pty"}, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_FALSE(scene.front().ended(Deadline::exactly(1s)));
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();
}

TEST_F(PtyOption, AllOutputArrives) {
    auto spec = home.command({"run", "--pty", "--", "/bin/sh", "-c",
                              "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"});
    spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    const auto said = child->out().read_to_end(Deadline::in(60s));
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_EQ(count(*said, "\n"), 20000U);
    EXPECT_TRUE(said->ends_with("line 19999\r\n"));
}

// Half a line and no end: the terminal's end-of-file character only ends the line.
TEST_F(PtyOption, AnEndOfInputWithinALineIsHeard) {
    for (const char* input : {"abc", "abc\n", ""}) {
        auto spec = home.command({"run", "--pty", "--stop", "eof:1h,kill", "--", "/bin/cat"});
        const auto ran = run_to_end(spec, Deadline::in(patience), input);
        ASSERT_TRUE(ran) << ran.error().message << " after \"" << input << '"';
        EXPECT_TRUE(ran->status.exited_with(0)) << to_string(ran->status);
    }
}

TEST_F(PtyOption, AReaderThatHasGoneEndsIt) {
    auto spec = home.command({});
    spec.argv = sh("\"$1\" run --pty --stop eof:1h,term:1h,kill -- yes </dev/null | head -n 1",
                   {program("holdfast")});
    const auto ran = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->out, "y\r\n");
    EXPECT_NE(events().find("output_closed"), std::string::npos) << events();
    expect_nothing_left();
}

// The other side of the relay does not read. The front has to hear everything else all the same.
class StuckRelay : public Keep {
protected:
    // More than pipe, relay and terminal hold together, and nobody reads it.
    void start_flood() {
        scene.start({.host = {"--null"},
                     .holdfast = {"--name", "stuck", "--pty", "--stop", "term:1h,kill"},
                     .command = {"yes"},
                     .wait_ready = false});
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(eventually_in_ps("\"phase\":\"ready\""));
        // Everything is full when the flood stands still.
        scene.find_keeper();
        std::string before;
        ASSERT_TRUE(eventually(Deadline::in(patience), [&] {
            const auto members = descendants(scene.keeper().pid());
            const std::string now =
                members.empty() ? ""
                                : read_file("/proc/" + std::to_string(members[0].pid) + "/io").value_or("");
            std::this_thread::sleep_for(50ms);
            return !now.empty() && std::exchange(before, now) == now;
        }));
    }
};

TEST_F(StuckRelay, TheHostsDeathEndsIt) {
    start_flood();
    ASSERT_FALSE(HasFatalFailure());
    const Other front(scene.front().pid());
    ASSERT_TRUE(scene.host().signal(SIGKILL));
    EXPECT_TRUE(front.ended()) << "the front waits for a reader that does not come";
    expect_nothing_left();
}

TEST_F(StuckRelay, AStopIsHeardByTheFrontItself) {
    start_flood();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(holdfast({"stop", "stuck"}).status.exited_with(0));
    EXPECT_EQ(scene.status(), 128 + SIGTERM) << "of the helper; 137 if the front was killed";
    expect_nothing_left();
}

TEST_F(StuckRelay, AHelperThatDoesNotReadItsTerminalIsStoppedToo) {
    scene.start({.holdfast = {"--name", "stuck", "--pty", "--stop", "term:1h,kill"},
                 .command = sh("stty raw -echo; echo up; exec sleep 3600"),
                 .wait_ready = false});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(next_line(), "up");
    for (int i = 0; i < 20; ++i) // more than a terminal takes
        scene.tell_host('w');
    EXPECT_FALSE(scene.front().ended(Deadline::exactly(300ms)));
    EXPECT_TRUE(holdfast({"stop", "stuck"}).status.exited_with(0));
    EXPECT_EQ(scene.status(), 128 + SIGTERM);
    expect_nothing_left();
}

} // namespace

} // namespace holdfast::harness
