// Processes that look forgotten and are not: no finding at all, or at least never a proven one.
#include "diagnosis_world.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
using namespace base;
namespace {

void expect_nothing(World& world) {
    auto findings = world.diagnose();
    EXPECT_TRUE(findings.empty()) << name_of(findings[0].kind) << " about " << findings[0].identity.pid
                                  << ": " << findings[0].rule;
}

TEST(Innocent, AnEmptyMachine) {
    World world;
    expect_nothing(world);
}

TEST(Innocent, AServiceEvenIfItsStdioIsDead) {
    World world;
    world.add_orphan(500).unit = "hermes.service";
    expect_nothing(world);
}

TEST(Innocent, AContainersProcess) {
    World world;
    world.add_orphan(500).inner_namespace = true;
    expect_nothing(world);
}

TEST(Innocent, AKernelThread) {
    World world;
    auto& thread = world.add(2, 0, {});
    thread.kernel_thread = true;
    thread.descriptors_known = false;
    expect_nothing(world);
}

TEST(Innocent, WhatAKeeperGuards) {
    World world;
    auto& keeper = world.add(450, World::init, {"holdfast-keep"});
    keeper.comm = "exe"; // executed as /proc/self/exe
    auto& helper = world.add(500, 450, {"node", "server.js"});
    helper.session = World::dead_host;
    world.pipe_stdio(helper, 0);
    expect_nothing(world);
}

TEST(Innocent, ADaemonWithNullInput) {
    World world;
    world.add(500, World::init, {"tmux"}).session = 500;
    world.add(501, World::init, {"redis-server"}).session = World::dead_host;
    expect_nothing(world);
}

TEST(Innocent, ANohupJob) {
    World world;
    auto& job = world.add(500, World::init, {"train.py"});
    job.session = World::dead_host;
    job.output.kind = ChannelKind::file;
    expect_nothing(world);
}

TEST(Innocent, ABackgroundJobOfALivingShell) {
    World world;
    auto& job = world.add(500, 98, {"make", "-j8"});
    job.has_terminal = true;
    job.input.kind = job.output.kind = ChannelKind::terminal;
    expect_nothing(world);
}

// gen | compute > out: the writer has ended, as writers do.
TEST(Innocent, AComputingPipelineOfALivingShell) {
    World world;
    auto& compute = world.add(500, 98, {"sort"});
    world.pipe_stdio(compute, 0);
    compute.output = {.kind = ChannelKind::file};
    compute.activity.cpu_ms = 500;
    expect_nothing(world);
}

TEST(Innocent, AComputingPipelineOfADeadShell) {
    World world;
    auto& compute = world.add_orphan(500);
    compute.output = {.kind = ChannelKind::file};
    compute.activity.cpu_ms = 500;
    expect_nothing(world);
}

// gen | compute | tee: nobody writes any more, but somebody listens.
TEST(Innocent, AMiddleOfAPipelineWhoseReaderLives) {
    World world;
    auto& compute = world.add_orphan(500);
    compute.output.far_end = FarEnd::alive;
    expect_nothing(world);
}

// gen | work | head: both neighbours are gone, but the shell waits for it.
TEST(Innocent, AnIdleMemberOfALivingShellsPipeline) {
    World world;
    world.add(450, 98, {"/bin/sh", "script.sh"});
    auto& work = world.add(500, 450, {"work"});
    world.pipe_stdio(work, 0);
    expect_nothing(world);
}

// subprocess.run(input=...): stdin was closed on purpose, the answer is awaited.
TEST(Innocent, AChildWhoseParentAwaitsItsOutput) {
    World world;
    world.add(450, World::init, {"python3", "host.py"});
    auto& child = world.add(500, 450, {"converter"});
    world.pipe_stdio(child, 450);
    child.input.far_end = FarEnd::gone;
    expect_nothing(world);
}

TEST(Innocent, AHelperInUse) {
    World world;
    world.add(450, World::init, {"host"});
    world.pipe_stdio(world.add(500, 450, {"node", "server.js"}), 450);
    expect_nothing(world);
}

// npx has gone, the host lives and talks to the server: reparented is not orphaned.
TEST(Innocent, AReparentedServerWhoseHostStillTalksToIt) {
    World world;
    world.add(450, World::init, {"host"});
    auto& server = world.add(500, World::init, {"node", "server.js"});
    server.session = World::dead_host;
    world.pipe_stdio(server, 450);
    expect_nothing(world);
}

TEST(Innocent, AFreshlyDroppedOneIsGivenTime) {
    World world;
    world.add(450, World::init, {"host"});
    auto& helper = world.add(500, 450, {"node", "server.js"});
    world.pipe_stdio(helper, 0);
    helper.age_ms = 1000;
    expect_nothing(world);
}

TEST(Innocent, OneWhoseDescriptorsCannotBeSeen) {
    World world;
    world.add_orphan(500).descriptors_known = false;
    expect_nothing(world);
}

TEST(Innocent, OneWhoseFarEndsAreUnknown) {
    World world;
    auto& process = world.add_orphan(500);
    process.input.far_end = process.output.far_end = FarEnd::unknown;
    expect_nothing(world);
}

// In a container PID 1 may be the host itself.
TEST(Innocent, AChildThatPid1StartedIsNeverProven) {
    World world;
    auto& child = world.add(500, World::init, {"node", "server.js"});
    child.session = 1;
    world.pipe_stdio(child, 0);
    for (const Finding& finding : world.diagnose())
        EXPECT_FALSE(finding.proven);
}

TEST(Innocent, ASessionLeaderUnderAnUnknownInitIsNeverProven) {
    World world;
    world.add_orphan(500).session = 500;
    for (const Finding& finding : world.diagnose())
        EXPECT_FALSE(finding.proven);
}

TEST(Innocent, TwoMembersOfAPipelineAreNoDuplicates) {
    World world;
    world.add(450, World::init, {"python3", "script.py"});
    for (int pid : {500, 510}) {
        auto& tail = world.add(pid, 450, {"tail", "-f", std::to_string(pid)});
        auto& grep = world.add(pid + 1, 450, {"grep", "x"});
        auto& tee = world.add(pid + 2, 450, {"tee", std::to_string(pid)});
        std::uint64_t a = static_cast<std::uint64_t>(pid) * 10, b = a + 1;
        tail.links = {{.fd = 1, .kind = LinkKind::pipe_writer, .inode = a}};
        grep.input = {.kind = ChannelKind::pipe, .inode = a, .far_end = FarEnd::alive};
        grep.output = {.kind = ChannelKind::pipe, .inode = b, .far_end = FarEnd::alive};
        grep.links = {{.fd = 0, .kind = LinkKind::pipe_reader, .inode = a},
                      {.fd = 1, .kind = LinkKind::pipe_writer, .inode = b}};
        tee.links = {{.fd = 0, .kind = LinkKind::pipe_reader, .inode = b}};
    }
    expect_nothing(world);
}

TEST(Innocent, AWorkerPoolWithoutPipedStdio) {
    World world;
    world.add(450, World::init, {"nginx"});
    for (int pid = 500; pid < 508; ++pid)
        world.add(pid, 450, {"nginx: worker process"});
    expect_nothing(world);
}

TEST(Innocent, ShellsThatWaitForCommands) {
    World world;
    world.add(450, World::init, {"agent"});
    for (int pid : {500, 501})
        world.pipe_stdio(world.add(pid, 450, {"/bin/bash"}), 450);
    expect_nothing(world);
}

TEST(Innocent, AZombieOfAMoment) {
    World world;
    auto& zombie = world.add(500, 98, {});
    zombie.state = 'Z';
    zombie.activity.measured = false;
    expect_nothing(world);
}

} // namespace
} // namespace holdfast::core
