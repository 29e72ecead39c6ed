#include "harness/child.hpp"
#include "harness/marked.hpp"

#include <gtest/gtest.h>

using namespace holdfast;
using namespace holdfast::harness;
using namespace std::chrono_literals;

namespace {

SpawnSpec shell(const std::string& script) {
    SpawnSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    return spec;
}

bool contains_pid(const std::vector<ProcessInfo>& processes, pid_t pid) {
    for (const auto& process : processes)
        if (process.pid == pid)
            return true;
    return false;
}

TEST(Marked, FindsATokenInTheEnvironmentOfAReparentedDaemon) {
    const MarkGuard mark;
    auto spec = shell("(setsid sleep 3600 >/dev/null 2>&1 & echo $!)");
    spec.env = {mark.env()};
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    const pid_t daemon = std::stoi(child->out().read_line(Deadline::in(5s)).value_or("0"));
    ASSERT_TRUE(child->wait(Deadline::in(5s))->exited_with(0));
    EXPECT_TRUE(contains_pid(marked_processes(mark.token()), daemon));
    EXPECT_FALSE(mark.survivors(Deadline::exactly(10ms)).empty());
    EXPECT_TRUE(marked_processes(fresh_token()).empty()) << "control: another token finds nothing";
    const auto ended = end_marked(mark.token(), Deadline::in(5s));
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_GE(*ended, 1);
    EXPECT_TRUE(mark.survivors(Deadline::in(1s)).empty());
}

TEST(Marked, FindsATokenThatIsOnlyInTheArguments) {
    const MarkGuard mark;
    SpawnSpec spec;
    // A builtin: a child of this shell would carry no token at all, and so outlive the test.
    spec.argv = {"/bin/sh", "-c", "read line", mark.argument()};
    spec.clear_env = true;
    spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    EXPECT_TRUE(contains_pid(marked_processes(mark.token()), child->pid()));
}

TEST(Marked, TheGuardLeavesNothing) {
    std::string token;
    {
        const MarkGuard mark;
        token = mark.token();
        auto spec = shell("(setsid sleep 3600 &) ; (sleep 3600 &) ; echo up");
        spec.env = {mark.env()};
        spec.err = Stdio::null;
        auto child = Child::spawn(spec);
        ASSERT_TRUE(child);
        ASSERT_TRUE(child->out().read_line(Deadline::in(5s)));
        EXPECT_GE(marked_processes(token).size(), 2U);
    }
    EXPECT_TRUE(settled_survivors(token, Deadline::in(2s)).empty());
}

TEST(Marked, AZombieIsNoSurvivorButADescendant) {
    const MarkGuard mark;
    auto spec = shell("exit 0");
    spec.env = {mark.env()};
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->wait_ended(Deadline::in(5s)));
    EXPECT_TRUE(mark.survivors(Deadline::in(1s)).empty());
    EXPECT_TRUE(contains_pid(descendants(::getpid()), child->pid()));
    EXPECT_EQ(inspect(child->pid())->state, 'Z');
}

TEST(Marked, DescendantsAreFoundByParenthood) {
    auto child = Child::spawn(shell("sleep 3600 & echo $!; wait"));
    ASSERT_TRUE(child);
    const pid_t grandchild = std::stoi(child->out().read_line(Deadline::in(5s)).value_or("0"));
    const auto watch = open_pidfd(grandchild);
    ASSERT_TRUE(watch);
    EXPECT_TRUE(contains_pid(descendants(::getpid()), grandchild));
    EXPECT_TRUE(contains_pid(descendants(child->pid()), grandchild));
    EXPECT_FALSE(contains_pid(descendants(grandchild), child->pid()));
    ASSERT_EQ(::kill(-child->pid(), SIGKILL), 0); // its own group, and it is still ours
    EXPECT_TRUE(wait_pidfd(watch->get(), Deadline::in(5s)));
}

TEST(Marked, InspectReadsParentGroupSessionAndStart) {
    const auto self = inspect(::getpid());
    ASSERT_TRUE(self);
    EXPECT_EQ(self->ppid, ::getppid());
    EXPECT_EQ(self->pgid, ::getpgrp());
    EXPECT_EQ(self->sid, ::getsid(0));
    EXPECT_GT(self->start, 0U);
    EXPECT_EQ(self->state, 'R');
    EXPECT_EQ(inspect(0).error().code, Errc::not_found);
}

} // namespace
