// The stepper on a family: roles, threads, the others' fate, and bounds.
#include "harness/holdfast_program.hpp"
#include "stepper/stepper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <sys/wait.h>

using namespace holdfast;
using namespace holdfast::stepper;
using namespace std::chrono_literals;
using harness::Deadline;
using harness::MarkGuard;
using harness::TempDir;

namespace {

Spec family(const MarkGuard& mark, std::vector<std::string> words) {
    Spec spec;
    spec.program.argv = {harness::program("stepped/stepped_family")};
    spec.program.argv.insert(spec.program.argv.end(), words.begin(), words.end());
    spec.program.env = {mark.env()};
    return spec;
}

std::string content(const TempDir& dir) {
    return harness::read_file(dir.file("out")).value_or("");
}

std::ptrdiff_t letters(const std::string& text, char letter) {
    return std::count(text.begin(), text.end(), letter);
}

TEST(StepperFamily, TheChildIsKilledAtEachOfItsWritesAndTheParentGoesOn) {
    const MarkGuard mark;
    const auto make = [&](const TempDir& dir) {
        auto spec = family(mark, {"pair", dir.file("out")});
        spec.role = nth_born(1);
        return spec;
    };
    const TempDir plain_dir;
    const auto plain = count_syscalls(make(plain_dir));
    ASSERT_TRUE(plain) << plain.error().message;
    ASSERT_EQ(std::count(plain->names.begin(), plain->names.end(), "write"), 4)
        << "only the child is counted";
    ASSERT_EQ(plain->family.size(), 2U);
    std::ptrdiff_t written = 0;
    for (std::size_t k = 1; k <= plain->count(); ++k) {
        const TempDir dir;
        const auto outcome = kill_at(make(dir), k, When::entry);
        ASSERT_TRUE(outcome) << outcome.error().message;
        ASSERT_TRUE(outcome->reached);
        EXPECT_EQ(outcome->victim.order, 1);
        EXPECT_EQ(outcome->victim.parent_order, 0);
        EXPECT_EQ(letters(content(dir), 'c'), written);
        EXPECT_EQ(letters(content(dir), 'P'), 2) << "the parent was not touched";
        EXPECT_EQ(outcome->root().how, Ended::How::exited);
        EXPECT_EQ(outcome->root().value, 9) << "and saw its child die of a signal";
        EXPECT_EQ(outcome->family[1].how, Ended::How::killed_here);
        written += plain->names[k - 1] == "write" ? 1 : 0;
    }
    EXPECT_EQ(written, 4);
    EXPECT_TRUE(mark.survivors(Deadline::in(2s)).empty());
}

TEST(StepperFamily, TheRootIsKilledAndTheChildFinishes) {
    const MarkGuard mark;
    const TempDir plain_dir;
    const auto plain = count_syscalls(family(mark, {"pair", plain_dir.file("out")}));
    ASSERT_TRUE(plain);
    const auto wait_at =
        std::find(plain->names.begin(), plain->names.end(), "wait4") - plain->names.begin() + 1;
    const TempDir dir;
    const auto outcome =
        kill_at(family(mark, {"pair", dir.file("out")}), static_cast<std::size_t>(wait_at), When::entry);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->name, "wait4");
    EXPECT_EQ(outcome->root().how, Ended::How::killed_here);
    EXPECT_EQ(outcome->family.at(1).how, Ended::How::exited);
    EXPECT_EQ(letters(content(dir), 'c'), 4);
    EXPECT_EQ(letters(content(dir), 'P'), 1);
}

TEST(StepperFamily, ARoleCanBeAnExecutable) {
    const MarkGuard mark;
    const TempDir plain_dir;
    auto spec = family(mark, {"exec", plain_dir.file("out")});
    spec.role = executed("stepped_writer");
    const auto plain = count_syscalls(spec);
    ASSERT_TRUE(plain);
    EXPECT_EQ(std::count(plain->names.begin(), plain->names.end(), "write"), 8);
    EXPECT_EQ(std::count(plain->names.begin(), plain->names.end(), "execve"), 0)
        << "the fork's part is not its";
    EXPECT_EQ(plain->family.at(1).process.exe, "stepped_writer");

    const auto third = [&] {
        std::size_t seen = 0;
        std::size_t at = 0;
        while (seen < 3)
            seen += plain->names.at(at++) == "write" ? 1U : 0U;
        return at;
    }();
    const TempDir dir;
    spec = family(mark, {"exec", dir.file("out")});
    spec.role = executed("stepped_writer");
    const auto outcome = kill_at(spec, third, When::exit);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->victim.exe, "stepped_writer");
    EXPECT_EQ(content(dir), "abc");

    spec.role = executable("stepped_family");
    const auto copies = count_syscalls(spec);
    ASSERT_TRUE(copies);
    EXPECT_EQ(std::count(copies->names.begin(), copies->names.end(), "execve"), 1)
        << "the forked copy counts here";
}

TEST(StepperFamily, AKillTakesAllThreads) {
    const MarkGuard mark;
    const TempDir plain_dir;
    const auto plain = count_syscalls(family(mark, {"threads", plain_dir.file("out")}));
    ASSERT_TRUE(plain) << plain.error().message;
    ASSERT_EQ(plain->family.size(), 1U) << "threads are one process";
    ASSERT_EQ(std::count(plain->names.begin(), plain->names.end(), "write"), 4);
    const TempDir dir;
    // Every point must end the whole process; how far the two threads were is up to the scheduler.
    for (std::size_t k = 1; k <= plain->count() / 2; ++k) {
        const auto outcome = kill_at(family(mark, {"threads", dir.file("out")}), k, When::entry);
        ASSERT_TRUE(outcome) << outcome.error().message;
        EXPECT_TRUE(outcome->reached);
        ASSERT_EQ(outcome->family.size(), 1U);
        EXPECT_EQ(outcome->root().how, Ended::How::killed_here);
    }
    EXPECT_TRUE(mark.survivors(Deadline::in(2s)).empty());
}

TEST(StepperFamily, WhatDoesNotEndIsEndedAndSaidSo) {
    const MarkGuard mark;
    auto spec = family(mark, {"orphans"});
    spec.settle = 100ms;
    const auto plain_names = [&] {
        auto hanging = spec;
        hanging.limit = 200ms;
        return count_syscalls(hanging);
    }();
    ASSERT_FALSE(plain_names);
    EXPECT_EQ(plain_names.error().code, Errc::timed_out);
    const auto outcome = kill_at(spec, 1, When::entry); // before the fork: nobody else
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->family.size(), 1U);

    // At the wait the child exists and pauses for ever.
    std::size_t k = 1;
    for (;; ++k) {
        const auto at = kill_at(spec, k, When::entry);
        ASSERT_TRUE(at) << at.error().message;
        ASSERT_TRUE(at->reached);
        if (at->name == "wait4") {
            ASSERT_EQ(at->family.size(), 2U);
            EXPECT_EQ(at->family[1].how, Ended::How::ended_by_stepper) << to_string(at->family[1]);
            break;
        }
    }
    EXPECT_TRUE(mark.survivors(Deadline::in(2s)).empty());

    // Released instead, it lives on until the caller ends it.
    spec.others = Others::release;
    const auto released = kill_at(spec, k, When::entry);
    ASSERT_TRUE(released);
    ASSERT_EQ(released->family.size(), 2U);
    EXPECT_EQ(released->family[1].how, Ended::How::released);
    const auto left = harness::marked_processes(mark.token());
    ASSERT_EQ(left.size(), 1U) << harness::to_string(left);
    EXPECT_EQ(left[0].pid, released->family[1].process.pid);
    EXPECT_NE(left[0].state, 't') << "no longer traced";
    EXPECT_TRUE(harness::end_marked(mark.token(), Deadline::in(5s)));
}

TEST(StepperFamily, AHangIsBounded) {
    const MarkGuard mark;
    auto spec = family(mark, {"hang"});
    spec.limit = 150ms;
    const auto before = Deadline::Clock::now();
    const auto counted = count_syscalls(spec);
    EXPECT_LT(Deadline::Clock::now() - before, test::patient(5s));
    ASSERT_FALSE(counted);
    EXPECT_EQ(counted.error().code, Errc::timed_out);
    EXPECT_TRUE(mark.survivors(Deadline::in(2s)).empty());
}

TEST(StepperFamily, AStoppedProgramStaysStoppedAndIsBounded) {
    const MarkGuard mark;
    auto spec = family(mark, {"stop"});
    spec.limit = 300ms;
    const auto counted = count_syscalls(spec);
    ASSERT_FALSE(counted) << "a stop must not be lost under the tracer";
    EXPECT_EQ(counted.error().code, Errc::timed_out);
    EXPECT_TRUE(mark.survivors(Deadline::in(2s)).empty());
}

TEST(StepperFamily, TheTestsOtherChildrenAreLeftAlone) {
    harness::SpawnSpec other;
    other.argv = {"/bin/sh", "-c", "exit 3"};
    auto child = harness::Child::spawn(other);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->wait_ended(Deadline::in(5s)));
    const MarkGuard mark;
    const TempDir dir;
    ASSERT_TRUE(count_syscalls(family(mark, {"pair", dir.file("out")})));
    EXPECT_TRUE(child->wait(Deadline::in(1s))->exited_with(3)) << "its status was not eaten";
}

} // namespace
