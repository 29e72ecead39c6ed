#include "harness/child.hpp"
#include "harness/marked.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

using namespace holdfast;
using namespace holdfast::harness;
using namespace std::chrono_literals;

namespace {

SpawnSpec shell(const std::string& script) {
    SpawnSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    return spec;
}

TEST(Child, GivesTheExitCodeAndTheSignal) {
    auto exits = Child::spawn(shell("exit 7"));
    ASSERT_TRUE(exits) << exits.error().message;
    EXPECT_TRUE(exits->wait(Deadline::in(5s))->exited_with(7));
    EXPECT_TRUE(exits->wait(Deadline::in(5s))->exited_with(7)) << "a second wait gives the same answer";

    auto dies = Child::spawn(shell("kill -TERM $$; sleep 3600"));
    ASSERT_TRUE(dies);
    EXPECT_TRUE(dies->wait(Deadline::in(5s))->killed_by(SIGTERM));
    EXPECT_EQ(dies->wait(Deadline::in(5s))->shell_code(), 128 + SIGTERM);
}

TEST(Child, AWaitThatRunsOutLeavesItRunning) {
    auto child = Child::spawn(shell("exec sleep 3600"));
    ASSERT_TRUE(child);
    const auto early = child->wait(Deadline::exactly(20ms));
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, Errc::timed_out);
    EXPECT_TRUE(child->alive());
    EXPECT_TRUE(child->kill()->killed_by(SIGKILL));
    EXPECT_FALSE(child->alive());
}

TEST(Child, SaysWhyACommandCannotStart) {
    SpawnSpec spec;
    spec.argv = {"/no/such/program"};
    const auto child = Child::spawn(spec);
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code, Errc::cannot_start);
    EXPECT_EQ(child.error().sys, ENOENT);
}

TEST(Child, TheDestructorEndsIt) {
    sys::Fd watch;
    {
        auto spec = shell("trap '' TERM HUP INT; echo up; read line");
        spec.in = Stdio::pipe;
        auto child = Child::spawn(spec);
        ASSERT_TRUE(child);
        ASSERT_TRUE(child->out().read_line(Deadline::in(5s)));
        watch = std::move(*open_pidfd(child->pid()));
        pollfd poller{watch.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&poller, 1, 0), 0);
    }
    EXPECT_TRUE(wait_pidfd(watch.get(), Deadline::exactly(1ms)));
}

TEST(Child, HasItsOwnGroupAndTheGivenEnvironmentAndFolder) {
    auto spec = shell("echo $MARK; pwd; ps -o pgid= -p $$");
    spec.env = {"MARK=first"};
    spec.cwd = "/usr";
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    EXPECT_EQ(child->out().read_line(Deadline::in(5s)).value_or("?"), "first");
    EXPECT_EQ(child->out().read_line(Deadline::in(5s)).value_or("?"), "/usr");
    EXPECT_EQ(std::stoi(child->out().read_line(Deadline::in(5s)).value_or("0")), child->pid());
    EXPECT_TRUE(child->wait(Deadline::in(5s))->exited_with(0));
}

TEST(Child, ClearEnvStartsFromNothing) {
    SpawnSpec spec;
    spec.argv = {"/usr/bin/env"};
    spec.clear_env = true;
    spec.env = {"ONLY=this"};
    EXPECT_EQ(run_to_end(spec, Deadline::in(5s))->out, "ONLY=this\n");
}

TEST(Child, OnlyTheStatedDescriptorsArePassedOn) {
    const sys::Fd stays(::memfd_create("stays-here", MFD_CLOEXEC));
    const sys::Fd goes(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    auto spec = shell("ls -l /proc/self/fd");
    spec.fds = {{goes.get(), 9}};
    const auto finished = run_to_end(spec, Deadline::in(5s));
    ASSERT_TRUE(finished);
    EXPECT_TRUE(finished->out.contains("9 -> /dev/zero")) << finished->out;
    EXPECT_FALSE(finished->out.contains("stays-here")) << finished->out;
    EXPECT_FALSE(finished->out.contains("200 -> ")) << finished->out; // the harness' own helpers
}

TEST(Child, SpeaksBothWaysAndSeesTheEnd) {
    SpawnSpec spec;
    spec.argv = {"/bin/cat"};
    spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->write_in("one\ntwo\n"));
    EXPECT_EQ(child->out().read_until("two", Deadline::in(5s)).value_or("?"), "one\ntwo");
    const auto late = child->out().read_until("three", Deadline::exactly(20ms));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Errc::timed_out);
    child->close_in();
    const auto gone = child->out().read_until("three", Deadline::in(5s));
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, Errc::closed);
    EXPECT_TRUE(child->wait(Deadline::in(5s))->exited_with(0));
}

TEST(Child, WritingToADeadOneIsAnErrorAndNoSignal) {
    SpawnSpec spec;
    spec.argv = {"/bin/true"};
    spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->wait(Deadline::in(5s)));
    const auto written = child->write_in("x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().sys, EPIPE);
}

TEST(Child, RunToEndTakesMoreThanAPipeHoldsOnBothStreams) {
    const auto finished = run_to_end(shell("head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; cat"),
                                     Deadline::in(20s), "tail");
    ASSERT_TRUE(finished) << finished.error().message;
    EXPECT_EQ(finished->err.size(), 300000U);
    EXPECT_EQ(finished->out.size(), 300004U);
}

TEST(Child, DieWithUsEndsItWhenItsParentDies) {
    // A parent that forks the harness' child and dies without a word.
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const sys::Fd from(ends[0]);
    sys::Fd to(ends[1]);
    const pid_t middle = ::fork();
    if (middle == 0) {
        auto spec = shell("exec sleep 3600");
        spec.die_with_us = true;
        auto child = Child::spawn(spec);
        const pid_t pid = child ? child->pid() : 0;
        [[maybe_unused]] const ssize_t n = ::write(to.get(), &pid, sizeof pid);
        ::pause();
    }
    to.reset();
    pid_t pid = 0;
    ASSERT_EQ(::read(from.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    auto pidfd = open_pidfd(pid);
    ASSERT_TRUE(pidfd);
    EXPECT_FALSE(wait_pidfd(pidfd->get(), Deadline::exactly(20ms)))
        << "control: it lives while its parent does";
    ::kill(middle, SIGKILL);
    ::waitpid(middle, nullptr, 0);
    EXPECT_TRUE(wait_pidfd(pidfd->get(), Deadline::in(5s)));
}

} // namespace
