// `holdfast run`: the plan that its words give, before anything happens.
#include "cli/run/plan.hpp"
#include "cli/run/run.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

Result<RunPlan> plan_of(Words words, RunSurroundings around = {}) {
    const Command run{.name = "run", .options = run_options(), .takes_command = true};
    words.insert(words.end(), {"--", "/opt/server", "--port", "1"});
    const auto arguments = parse(run, words);
    if (!arguments)
        return std::unexpected(arguments.error());
    return plan_run(*arguments, std::move(around));
}

// The error that these words give.
std::string mistake(const Words& words, const RunSurroundings& around = {}) {
    const auto plan = plan_of(words, around);
    if (plan)
        return "no error";
    EXPECT_EQ(plan.error().code, Errc::invalid_argument) << plan.error().message;
    return plan.error().message;
}

TEST(RunPlan, WithoutOptionsTheParentIsTheHost) {
    const auto plan = plan_of({});
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_EQ(plan->label, "server");
    EXPECT_EQ(plan->host.kind, HostChoice::Kind::parent);
    EXPECT_FALSE(plan->slot.has_value());
    EXPECT_EQ(plan->front.keep.command, (Words{"/opt/server", "--port", "1"}));
    EXPECT_EQ(plan->front.keep.plan, core::default_stop_plan());
    EXPECT_EQ(plan->front.keep.restart, keep::Restart::never);
    EXPECT_EQ(plan->front.readiness, keep::Readiness::automatic);
    EXPECT_FALSE(plan->front.pty);
    EXPECT_FALSE(plan->with_log);
}

TEST(RunPlan, OptionsOfTheCommandsLife) {
    const auto plan =
        plan_of({"--name",     "n",     "--session", "s",      "--task",    "t",     "--idle",  "10m",
                 "--max-life", "2h",    "--memory",  "1G",     "--contain", "plain", "--spare", "gpg-agent",
                 "--pty",      "--log", "--ready",   "notify", "--host",    "4711"});
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_EQ(plan->label, "n");
    EXPECT_EQ(plan->session, "s");
    EXPECT_EQ(plan->task, "t");
    EXPECT_EQ(plan->front.keep.idle, 10min);
    EXPECT_EQ(plan->front.keep.max_life, 2h);
    EXPECT_EQ(plan->front.keep.memory, 1ULL << 30U);
    EXPECT_EQ(plan->limits.idle, "10m") << "reported as it was written";
    EXPECT_EQ(plan->limits.max_life, "2h");
    EXPECT_EQ(plan->limits.memory, "1G");
    EXPECT_EQ(plan->front.keep.containment, keep::Containment::plain);
    EXPECT_EQ(plan->front.keep.spare, Words{"gpg-agent"});
    EXPECT_TRUE(plan->front.pty);
    EXPECT_TRUE(plan->with_log);
    EXPECT_EQ(plan->front.readiness, keep::Readiness::notify);
    EXPECT_EQ(plan->host.kind, HostChoice::Kind::process);
    EXPECT_EQ(plan->host.pid, 4711);
}

TEST(RunPlan, TheSlotAndItsFiles) {
    const auto plan = plan_of({"--slot",    "memory", "--slot-dir",    "data", "--if-held",        "replace",
                               "--wait",    "3s",     "--grace",       "4s",   "--stall",          "5s",
                               "--session", "s",      "--pidfile",     "/p",   "--pidfile-format", "json",
                               "--adopt",   "/a",     "--adopt-match", "^x"});
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    ASSERT_TRUE(plan->slot.has_value());
    EXPECT_EQ(plan->slot->name, "memory");
    EXPECT_EQ(plan->slot->directory, "data");
    EXPECT_EQ(plan->slot->acquire.if_held, IfHeld::replace);
    EXPECT_EQ(plan->slot->acquire.wait, 3s);
    EXPECT_EQ(plan->slot->acquire.grace, 4s);
    EXPECT_EQ(plan->slot->acquire.stall, 5s);
    EXPECT_EQ(plan->slot->acquire.session, "s");
    EXPECT_EQ(plan->slot->acquire.argv, plan->front.keep.command);
    ASSERT_TRUE(plan->slot->pid_file.has_value());
    EXPECT_EQ(plan->slot->pid_file->path, "/p");
    EXPECT_TRUE(plan->slot->pid_file->json);
    ASSERT_TRUE(plan->slot->adopt.has_value());
    EXPECT_EQ(plan->slot->adopt->path, "/a");
    EXPECT_EQ(plan->slot->adopt->match, "^x");
}

TEST(RunPlan, TheGraceIsThatOfTheTermStage) {
    const auto plan = plan_of({"--stop", "eof:1s,term:2s,kill", "--grace", "9s"});
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_EQ(core::to_text(plan->front.keep.plan), "eof:1000ms,term:9000ms,kill");
}

// The end of a file, or of /dev/null, is nobody's letting go.
TEST(RunPlan, OnlyAnInputThatSomebodyHoldsIsWatched) {
    EXPECT_FALSE(plan_of({})->front.watch_input);
    EXPECT_TRUE(plan_of({}, {.client_on_input = true})->front.watch_input);
    EXPECT_TRUE(plan_of({}, {.terminal_on_input = true})->front.watch_input);
}

TEST(RunPlan, WhatSurroundsItIsInIt) {
    const auto plan = plan_of({}, {.places = {.slots = "/s", .helpers = "/h"}, .notify_socket = "@above"});
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->places.slots, "/s");
    EXPECT_EQ(plan->places.helpers, "/h");
    EXPECT_EQ(plan->front.notify_above, "@above");
}

TEST(RunPlan, AnOptionThatWouldDoNothingIsAMistake) {
    EXPECT_EQ(mistake({"--restart-max", "3"}),
              "--restart-max does nothing without --restart on-failure or --restart always");
    EXPECT_EQ(mistake({"--slot", "s", "--stall", "3s"}), "--stall does nothing without --if-held replace");
    EXPECT_EQ(mistake({"--json"}), "--json does nothing without --if-held attach");
    EXPECT_EQ(mistake({"--stop", "now", "--grace", "1s"}),
              "--grace does nothing without a term stage in --stop, or --if-held replace");
    EXPECT_EQ(mistake({"--wait", "1s"}), "--wait goes with --slot NAME");
    EXPECT_EQ(mistake({"--slot", "s", "--adopt-match", "x"}), "--adopt-match goes with --adopt");
}

TEST(RunPlan, ARestartNeedsAnInputWithoutAClient) {
    EXPECT_TRUE(plan_of({"--restart", "always"}).has_value());
    EXPECT_TRUE(
        mistake({"--restart", "always"}, {.client_on_input = true}).starts_with("--restart is for helpers"));
    EXPECT_EQ(mistake({"--restart", "always", "--pty"}),
              "--restart and --pty do not go together: a terminal has one life");
}

TEST(RunPlan, ValuesThatAreOffAreNamed) {
    EXPECT_EQ(mistake({"--host", "0"}), "--host is parent, none or a process number, not \"0\"");
    EXPECT_EQ(mistake({"--host", "12x"}), "--host is parent, none or a process number, not \"12x\"");
    EXPECT_EQ(mistake({"--restart", "always", "--restart-max", "65"}),
              "--restart-max is a number from 0 to 64, not \"65\"");
    EXPECT_EQ(mistake({"--session", ""}), "--session needs a word that is not empty");
    EXPECT_EQ(mistake({"--slot", "s", "--pidfile", ""}), "--pidfile needs the path of a file");
    EXPECT_TRUE(mistake({"--idle", "soon"}).starts_with("--idle: "));
    EXPECT_NE(mistake({"--slot", "a/b"}), "no error");
    EXPECT_NE(mistake({"--stop", "whenever"}), "no error");
    EXPECT_NE(mistake({"--spare", "("}), "no error");
    EXPECT_NE(mistake({"--slot", "s", "--adopt", "/a", "--adopt-match", "("}), "no error");
}

} // namespace

} // namespace holdfast::cli
