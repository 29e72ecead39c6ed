// --pidfile: written among the files of others without touching them, gone on every way out, and no mistake
// about it costs a healthy owner its life.
#include "keep/fixture.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::harness {

namespace {

namespace fs = std::filesystem;

class PidFiles : public Keep {
protected:
    void hold(const Words& options = {}) {
        scene.start(
            {.holdfast = Words{"--slot", "one"} + quickly + options, .command = home.animal("term_ignorer")});
        ASSERT_FALSE(HasFatalFailure());
    }
    Words run(const Words& options, const Words& command = {"/bin/true"}) const {
        return Words{"run", "--slot", "one"} + options + Words{"--"} + command;
    }
    const std::string own = home.dir().file("own.pid");
};

TEST_F(PidFiles, ItIsRemovedWhenTheFrontIsKilled) {
    for (const char* format : {"plain", "json"}) {
        hold({"--pidfile", own, "--pidfile-format", format});
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(fs::exists(own));
        scene.front().signal(SIGKILL);
        EXPECT_TRUE(scene.front().ended());
        EXPECT_TRUE(scene.keeper().ended());
        EXPECT_FALSE(fs::exists(own)) << format;
        expect_nothing_left();
    }
}

TEST_F(PidFiles, ItIsRemovedWhenTheKeeperIsKilled) {
    hold({"--pidfile", own});
    ASSERT_FALSE(HasFatalFailure());
    scene.keeper().signal(SIGKILL);
    EXPECT_TRUE(scene.front().ended());
    EXPECT_FALSE(fs::exists(own));
}

TEST_F(PidFiles, NeitherRemovesWhatIsAnothersByThen) {
    for (bool kill_front : {true, false}) {
        hold({"--pidfile", own});
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(write_file(own, "1\n"));
        scene.front().signal(kill_front ? SIGKILL : SIGTERM);
        EXPECT_TRUE(scene.front().ended());
        EXPECT_TRUE(scene.keeper().ended());
        EXPECT_EQ(read_file(own).value_or(""), "1\n");
        fs::remove(own);
    }
}

// A start may take its time after it has the slot: here it ends what a double kill left, which ignores TERM.
TEST_F(PidFiles, ATermRightAfterItWasWrittenLeavesNothing) {
    scene.start({.command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    scene.kill_both_guards();
    auto run = Child::spawn(home.command(Words{"run", "--slot", "one", "--pidfile", own} + quickly +
                                         Words{"--"} + home.animal("term_ignorer")));
    ASSERT_TRUE(run);
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] { return fs::exists(own); }));
    ASSERT_TRUE(run->signal(SIGTERM));
    ASSERT_TRUE(run->wait(Deadline::in(patience)));
    EXPECT_FALSE(fs::exists(own));
}

TEST_F(PidFiles, FilesOfOthersStayAsTheyAre) {
    const std::string directory = home.dir().file("directory");
    fs::create_directory(directory);
    ASSERT_TRUE(write_file(directory + "/precious", "kept"));
    const auto ran = holdfast(run({"--pidfile", directory}));
    EXPECT_TRUE(ran.status.exited_with(73)) << to_string(ran.status) << ran.err;
    EXPECT_EQ(read_file(directory + "/precious").value_or(""), "kept");
    EXPECT_FALSE(fs::exists(directory + ".tmp"));

    ASSERT_TRUE(write_file(own + ".tmp", "somebody's draft"));
    EXPECT_TRUE(holdfast(run({"--pidfile", own})).status.exited_with(0));
    EXPECT_EQ(read_file(own + ".tmp").value_or(""), "somebody's draft");
    EXPECT_FALSE(fs::exists(own));
}

TEST_F(PidFiles, AFileThatNamesALivingStrangerIsLeftAlone) {
    const std::string living = std::to_string(::getpid()) + "\n";
    ASSERT_TRUE(write_file(own, living));
    const auto ran = holdfast(run({"--pidfile", own}, {"/bin/echo", "ran"}));
    EXPECT_TRUE(ran.status.exited_with(73)) << to_string(ran.status) << ran.err;
    EXPECT_NE(ran.err.find("process " + std::to_string(::getpid())), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(read_file(own).value_or(""), living);
}

// G2: what nobody living can have written is no obstacle.
TEST_F(PidFiles, AFileThatNamesNobodyIsWrittenOver) {
    auto dead = Child::spawn(home.command_of("zoo/exiter", {}));
    ASSERT_TRUE(dead);
    ASSERT_TRUE(dead->wait(Deadline::in(patience)));
    for (const std::string& text : {std::to_string(dead->pid()), std::string("garbage"), std::string(),
                                    "{\"pid\":" + std::to_string(::getpid()) + ",\"start_time\":1}"}) {
        ASSERT_TRUE(write_file(own, text));
        const auto ran = holdfast(run({"--pidfile", own}));
        EXPECT_TRUE(ran.status.exited_with(0)) << text << ": " << ran.err;
        EXPECT_FALSE(fs::exists(own));
    }
    // The number lives, but whoever has it now began long after the file was written.
    ASSERT_TRUE(write_file(own, std::to_string(::getpid())));
    fs::last_write_time(own, fs::file_time_type::clock::now() - std::chrono::hours(24 * 365 * 20));
    EXPECT_TRUE(holdfast(run({"--pidfile", own})).status.exited_with(0));
}

TEST_F(PidFiles, TheOwnersOwnFileGoesWithTheOwner) {
    hold({"--pidfile", own});
    ASSERT_FALSE(HasFatalFailure());
    const auto next = holdfast(run({"--pidfile", own, "--if-held", "replace", "--grace", "10s"},
                                   sh("kill -0 $(cat \"$1\")", {own})));
    EXPECT_TRUE(next.status.exited_with(0)) << to_string(next.status) << next.err;
    EXPECT_FALSE(fs::exists(own));
}

// Words that could never have worked are found out before the owner is asked to make room for them.
TEST_F(PidFiles, NoMistakeCostsTheOwnerItsLife) {
    hold();
    ASSERT_FALSE(HasFatalFailure());
    const std::string directory = home.dir().file("directory");
    fs::create_directory(directory);
    struct {
        Words options;
        Words command;
        int status;
    } const mistakes[] = {
        {{"--pidfile", "/nonexistent/dir/x"}, {"/bin/true"}, 73},
        {{"--pidfile", directory}, {"/bin/true"}, 73},
        {{"--pidfile", ""}, {"/bin/true"}, 64},
        {{"--adopt", ""}, {"/bin/true"}, 64},
        {{"--adopt", "/nope", "--adopt-match", "("}, {"/bin/true"}, 64},
        {{}, {"/nonexistent"}, 127},
        {{}, {"no-such-command-at-all"}, 127},
        {{}, {"/etc/passwd"}, 126},
        {{}, {directory}, 126},
    };
    for (const auto& [options, command, status] : mistakes) {
        const auto ran = holdfast(run(Words{"--if-held", "replace"} + options, command));
        EXPECT_TRUE(ran.status.exited_with(status)) << status << ": " << to_string(ran.status) << ran.err;
        EXPECT_TRUE(scene.front().alive()) << ran.err;
        EXPECT_TRUE(is_alive(scene.animals().front())) << ran.err;
    }
}

TEST_F(PidFiles, APlaceThatCannotBeMadeIsNotASlotThatNobodyOwns) {
    for (const char* place : {"/proc/holdfast-test", "/dev/null/x"}) {
        auto spec = home.command(run({}));
        std::erase_if(spec.env,
                      [](const std::string& variable) { return variable.starts_with("HOLDFAST_HOME="); });
        spec.env.push_back(std::string("HOLDFAST_HOME=") + place);
        const auto ran = run_to_end(spec, Deadline::in(patience));
        ASSERT_TRUE(ran) << ran.error().message;
        EXPECT_TRUE(ran->status.exited_with(73)) << place << ": " << to_string(ran->status) << ran->err;
    }
}

} // namespace

} // namespace holdfast::harness
