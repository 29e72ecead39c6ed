// The command is the command's own: its words, its streams, its exit status.
#include "keep/fixture.hpp"

#include <filesystem>

#include <regex>

#include <sys/stat.h>

namespace holdfast::harness {

namespace {

TEST_F(Keep, ExitCodesAreTheCommandsOwn) {
    for (const int code : {0, 1, 7, 69, 126, 255}) {
        const auto ran =
            holdfast(Words{"run", "--"} + home.animal("exiter", {"--code=" + std::to_string(code)}));
        EXPECT_TRUE(ran.status.exited_with(code)) << to_string(ran.status);
        EXPECT_EQ(ran.err, "");
    }
}

// The keeper is a fork of the front. A descriptor of the front's that it kept would hide the front's death
// from it, or hold a lock for longer than the tree lives.
TEST_F(Keep, TheKeeperHasNothingOfTheFrontsButWhatItIsGiven) {
    const auto ran = holdfast(Words{"run", "--slot", "s", "--contain", "plain", "--"} +
                              sh("until grep -aq '^holdfast-keep' /proc/$PPID/cmdline; do :; done; "
                                 "ls -l /proc/$PPID/fd; cat /proc/$PPID/comm"));
    EXPECT_TRUE(ran.status.exited_with(0)) << to_string(ran.status) << ran.err;
    EXPECT_EQ(count(ran.out, ".lock"), 2U) << "the lives of entry and slot\n" << ran.out;
    EXPECT_EQ(count(ran.out, "socket:"), 1U) << "its end of the socket to the front\n" << ran.out;
    EXPECT_EQ(count(ran.out, "[pidfd]"), 1U) << "the host\n" << ran.out;
    EXPECT_EQ(count(ran.out, "[signalfd]"), 1U) << ran.out;
    EXPECT_EQ(count(ran.out, "[eventpoll]"), 0U) << ran.out;
    EXPECT_NE(ran.out.find("\nholdfast-keep\n"), std::string::npos) << ran.out;
}

TEST_F(Keep, SignalsAre128PlusTheirNumber) {
    for (const int number : {SIGTERM, SIGKILL, SIGSEGV, SIGUSR1, SIGHUP, SIGINT}) {
        const auto ran =
            holdfast(Words{"run", "--"} + home.animal("exiter", {"--signal=" + std::to_string(number)}));
        EXPECT_TRUE(ran.status.exited_with(128 + number)) << to_string(ran.status);
    }
}

TEST_F(Keep, ACommandThatIsNotThereIs127) {
    for (const char* command : {"/no/such/command", "no-such-command-anywhere"}) {
        const auto ran = holdfast({"run", "--", command});
        EXPECT_TRUE(ran.status.exited_with(127)) << to_string(ran.status);
        EXPECT_NE(ran.err.find(command), std::string::npos) << ran.err;
        EXPECT_TRUE(registry_ids(home).empty());
    }
}

TEST_F(Keep, ACommandThatCannotBeExecutedIs126) {
    ASSERT_TRUE(write_file(home.dir().file("plain.txt"), "not a program\n"));
    for (const std::string& command : {home.dir().file("plain.txt"), home.path()}) {
        const auto ran = holdfast({"run", "--", command});
        EXPECT_TRUE(ran.status.exited_with(126)) << to_string(ran.status) << ran.err;
    }
}

TEST_F(Keep, AScriptWithoutAnInterpreterLineIsTheShells) {
    const std::string script = home.dir().file("script");
    ASSERT_TRUE(write_file(script, "echo \"$1\"; exit 4\n"));
    ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
    const auto ran = holdfast({"run", "--", script, "a b"});
    EXPECT_TRUE(ran.status.exited_with(4));
    EXPECT_EQ(ran.out, "a b\n");
}

TEST_F(Keep, WordsReachTheCommandExactly) {
    const Words odd{"",      " ",           "a b",         "--",
                    "-x",    "--name",      "$HOME",       "*",
                    "'q\"",  "back\\slash", "line\nbreak", "ünïcode",
                    ";|&<>", "\x01\x7f",    "=",           std::string(100'000, 'x')};
    const auto ran = holdfast(Words{"run", "--", "/usr/bin/printf", "%s\\0"} + odd);
    std::string expected;
    for (const std::string& word : odd)
        expected += word + std::string(1, '\0');
    EXPECT_TRUE(ran.out == expected);
    EXPECT_TRUE(ran.status.exited_with(0)) << ran.err;
}

TEST_F(Keep, WithoutTheDoubleDashNothingIsGuessed) {
    const auto ran = holdfast({"run", "--no-such-option", "--", "/bin/true"});
    EXPECT_TRUE(ran.status.exited_with(64)) << ran.err;
    EXPECT_TRUE(holdfast({"run", "--"}).status.exited_with(64));
    EXPECT_TRUE(holdfast({"run"}).status.exited_with(64));
}

// Not one byte passes through Holdfast: the command has the very pipes that the host made.
TEST_F(Keep, StreamsAreTheHostsOwn) {
    auto spec = home.command(Words{"run", "--"} +
                             sh("stat -L -c '%d:%i' /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 >&1"));
    spec.in = Stdio::pipe;
    spec.err = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child) << child.error().message;
    const auto identity = [](int fd) {
        struct stat file{};
        EXPECT_EQ(::fstat(fd, &file), 0);
        return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
    };
    for (const int fd : {child->in_fd(), child->out().fd(), child->err().fd()}) {
        const auto line = child->out().read_line(Deadline::in(patience));
        ASSERT_TRUE(line) << line.error().message;
        EXPECT_EQ(*line, identity(fd));
    }
    const auto status = child->wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(0));
}

TEST_F(Keep, TheCommandGetsNoDescriptorButItsStreamsAndItsLife) {
    const auto ran = holdfast({"run", "--slot", "fds", "--", "/bin/ls", "-l", "/proc/self/fd"});
    EXPECT_TRUE(ran.status.exited_with(0));
    EXPECT_EQ(count(ran.out, ".lock"), 2U) << ran.out; // of the entry and of the slot
    auto direct = home.command({});
    direct.argv = {"/bin/ls", "-l", "/proc/self/fd"};
    const auto without = run_to_end(direct, Deadline::in(patience));
    ASSERT_TRUE(without) << without.error().message;
    EXPECT_EQ(count(ran.out, " -> "), count(without->out, " -> ") + 2) << ran.out;
}

TEST_F(Keep, EndOfOutputComesWithTheCommandsEnd) {
    // The command closes its stdout and lives on: the host hears the end of it then, and not at the exit.
    scene.start({.holdfast = {"--stop", "now"},
                 .command = sh("echo last; exec >&-; exec \"$@\"", home.animal("term_ignorer"))});
    ASSERT_FALSE(HasFatalFailure());
    // keep_host itself holds the pipe of this scene, so ask who else does.
    EXPECT_EQ(next_line(), "last");
    const auto mine = [](pid_t pid, int fd) {
        struct stat file{};
        return ::stat(("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd)).c_str(), &file) == 0
                   ? file.st_ino
                   : 0;
    };
    const auto pipe = mine(scene.host().pid(), 1);
    for (const pid_t guard : {scene.front().pid(), scene.keeper().pid()})
        for (int fd = 0; fd < 300; ++fd)
            EXPECT_NE(mine(guard, fd), pipe)
                << "process " << guard << " keeps the host's pipe open as " << fd;
}

TEST_F(Keep, TheEnvironmentNamesTheEntry) {
    const auto ran =
        holdfast(Words{"run", "--"} + sh("echo \"$HOLDFAST_ID $HOLDFAST_MARK\"; test -n \"$NOTIFY_SOCKET\""));
    EXPECT_TRUE(ran.status.exited_with(0));
    EXPECT_TRUE(std::regex_search(ran.out, std::regex("^([0-9a-f]{12}) \\1\n$"))) << ran.out;
}

TEST_F(Keep, WorksWithoutStreams) {
    const auto ran =
        holdfast({"run", "--", "/bin/sh", "-c", "exec <&- >&- 2>&-; exec \"$0\" run -- /bin/sh -c 'exit 6'",
                  program("holdfast")});
    EXPECT_TRUE(ran.status.exited_with(6)) << to_string(ran.status);
}

// An option that would do nothing is told, before anything is started.
TEST_F(Keep, WordsThatWouldDoNothingAreRefused) {
    struct Case {
        Words words;
        std::string told; // empty: it does something
    };
    const std::vector<Case> cases{
        {{"--restart-delay", "1s"}, "--restart-delay does nothing without --restart"},
        {{"--restart-max", "3"}, "--restart-max does nothing without --restart"},
        {{"--restart", "never", "--restart-max", "3"}, "--restart-max does nothing without --restart"},
        {{"--slot", "one", "--stall", "1s"}, "--stall does nothing without --if-held replace"},
        {{"--slot", "one", "--if-held", "wait", "--stall", "1s"},
         "--stall does nothing without --if-held replace"},
        {{"--json"}, "--json does nothing without --if-held attach"},
        {{"--slot", "one", "--if-held", "wait", "--json"}, "--json does nothing without --if-held attach"},
        {{"--stop", "now", "--grace", "1s"}, "--grace does nothing without a term stage"},
        {{"--stop", "eof:1s,kill", "--slot", "one", "--grace", "1s"},
         "--grace does nothing without a term stage"},
        {{"--contain", "pidns", "--spare", "adb"}, "--spare and --contain pidns do not go together"},
        {{"--stall", "1s"}, "--stall goes with --slot NAME"},
        {{"--restart", "always", "--restart-delay", "1ms", "--restart-max", "1"}, ""},
        {{"--slot", "one", "--if-held", "replace", "--stall", "1s", "--stop", "now", "--grace", "1s"}, ""},
        {{"--slot", "one", "--if-held", "attach", "--json", "--wait", "1s"}, ""},
        {{"--grace", "1s", "--spare", "adb"}, ""},
    };
    const std::string mark = home.dir().file("ran");
    for (const Case& one : cases) {
        std::filesystem::remove(mark);
        const auto ran = holdfast(Words{"run"} + one.words + Words{"--"} + sh("touch \"$1\"", {mark}));
        EXPECT_EQ(ran.status.exited_with(64), !one.told.empty()) << one.words.front() << ": " << ran.err;
        EXPECT_NE(ran.err.find(one.told), std::string::npos) << one.told << " in " << ran.err;
        EXPECT_EQ(std::filesystem::exists(mark), one.told.empty()) << one.words.front() << ran.err;
    }
}

} // namespace

} // namespace holdfast::harness
