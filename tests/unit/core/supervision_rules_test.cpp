// The supervision machine told as stories: each of the promises in core/supervision.hpp by its own name.
#include "core/supervision.hpp"

#include <gtest/gtest.h>

using namespace holdfast::core;
using namespace holdfast::base;
using namespace std::chrono_literals;

namespace {

// A helper whose driver does exactly what the test says.
struct Story {
    SupervisionPolicy policy;
    Supervision state;
    Moment now = 100s;
    Effects last;
    int spawns = 0;

    Story() { policy.backoff.jitter = 0; }

    Story& tell(const Event& event) {
        Step result = step(state, event, now, 0.5, policy);
        state = result.state;
        last = result.effects;
        for (const Effect& effect : last)
            spawns += effect.kind == EffectKind::spawn;
        return *this;
    }
    Story& hold() { return tell(Event::of(EventKind::hold)); }
    Story& release() { return tell(Event::of(EventKind::release)); }
    Story& spawned() { return tell(Event::of(EventKind::spawned, state.generation)); }
    Story& ready() { return tell(Event::of(EventKind::ready, state.generation)); }
    Story& exited(int status = 1) {
        return tell(Event::of_exit(state.generation, {FailureKind::exited, status}));
    }
    Story& tree_gone() { return tell(Event::of(EventKind::tree_gone, state.generation)); }
    Story& timer(Timer which) { return tell(Event::of_timer(which)); }
    Story& start() { return hold().spawned().ready(); }
    [[nodiscard]] Moment due(Timer which) const { return state.due[static_cast<std::size_t>(which)]; }
};

TEST(Supervision, FirstHoldStartsAndLaterOnesJoin) {
    Story story;
    story.hold();
    EXPECT_EQ(story.state.phase, HelperPhase::spawning);
    story.hold().spawned().hold().ready().hold();
    EXPECT_EQ(story.spawns, 1);
    EXPECT_EQ(story.state.holds, 4U);
    EXPECT_EQ(story.state.phase, HelperPhase::ready);
}

TEST(Supervision, G5LastReleaseDuringASpawnEndsWhatComes) {
    Story story;
    story.hold().release();
    EXPECT_EQ(story.state.phase, HelperPhase::abandoned);
    story.spawned();
    EXPECT_TRUE(story.last.has(EffectKind::end_now));
    story.tree_gone();
    EXPECT_EQ(story.state.phase, HelperPhase::idle);
    EXPECT_EQ(story.spawns, 1);
}

TEST(Supervision, G5NothingRevivesItDuringBackoff) {
    Story story;
    story.start().exited().tree_gone(); // the first replacement is at once
    story.spawned().exited().tree_gone();
    ASSERT_EQ(story.state.phase, HelperPhase::backoff);
    const Moment due = story.due(Timer::backoff);
    story.release();
    EXPECT_EQ(story.state.phase, HelperPhase::idle);
    story.now = due + 1h;
    story.timer(Timer::backoff); // it was already under way
    EXPECT_EQ(story.state.phase, HelperPhase::idle);
    EXPECT_EQ(story.spawns, 2);
}

TEST(Supervision, AHoldWhileStoppingGetsANewGenerationOnceNothingIsLeft) {
    Story story;
    story.start().release();
    ASSERT_EQ(story.state.phase, HelperPhase::stopping);
    story.hold();
    EXPECT_EQ(story.spawns, 1);
    story.tree_gone();
    EXPECT_EQ(story.spawns, 2);
    EXPECT_EQ(story.state.generation, 2U);
}

TEST(Supervision, LingerKeepsItForTheNextHoldAndEndsItThen) {
    Story story;
    story.policy.linger = 5s;
    story.start().release();
    EXPECT_EQ(story.state.phase, HelperPhase::ready_unheld);
    story.now += 4s;
    story.hold();
    EXPECT_EQ(story.state.phase, HelperPhase::ready);
    story.now += 10s;
    story.timer(Timer::linger); // cancelled, and so ignored
    EXPECT_EQ(story.state.phase, HelperPhase::ready);
    story.release();
    story.now += 5s;
    story.timer(Timer::linger);
    EXPECT_TRUE(story.last.has(EffectKind::drain));
    EXPECT_EQ(story.spawns, 1);
}

TEST(Supervision, G6OneReplacementForACrashAndForItsManyWitnesses) {
    Story story;
    story.start();
    const Generation first = story.state.generation;
    story.exited();
    story.exited();                                   // the same news again
    story.tell(Event::of(EventKind::replace, first)); // a caller who saw the pipe close
    story.tell(Event::of(EventKind::health_missed, first));
    story.tree_gone();
    story.tell(Event::of(EventKind::tree_gone, first)); // and again
    story.spawned().ready();
    story.tell(Event::of(EventKind::replace, first)); // a late one joins generation 2
    EXPECT_EQ(story.state.phase, HelperPhase::ready);
    EXPECT_EQ(story.spawns, 2);
    story.exited(0)
        .tell(Event::of(EventKind::replace, 2))
        .tree_gone(); // and the next one notices that 2 is dead too
    ASSERT_EQ(story.state.phase, HelperPhase::backoff);
    story.now = story.due(Timer::backoff);
    story.timer(Timer::backoff);
    EXPECT_EQ(story.spawns, 3);
    EXPECT_EQ(story.state.generation, 3U);
}

TEST(Supervision, ReplacingWhatIsBeingStartedIsRememberedUntilItRuns) {
    Story story;
    story.hold().tell(Event::of(EventKind::replace, 1));
    EXPECT_EQ(story.state.phase, HelperPhase::spawning) << "there is nothing to end yet";
    story.spawned();
    EXPECT_EQ(story.state.phase, HelperPhase::cleaning);
    EXPECT_TRUE(story.last.has(EffectKind::end_now));
    EXPECT_EQ(story.state.failure.kind, FailureKind::replaced);
    story.tree_gone();
    EXPECT_EQ(story.state.generation, 2U);
    story.spawned().ready();
    EXPECT_EQ(story.state.phase, HelperPhase::ready) << "the wish was for one generation, and is fulfilled";
    EXPECT_EQ(story.spawns, 2);
}

TEST(Supervision, ReplacingIsNoFailureHoweverOften) {
    Story story;
    story.policy.backoff.max_failures = 3;
    story.start();
    for (Generation one = 1; one <= 20; ++one) {
        story.tell(Event::of(EventKind::replace, one)).tree_gone();
        ASSERT_EQ(story.state.phase, HelperPhase::spawning) << "at once, and not after a pause: " << one;
        story.spawned().ready();
    }
    EXPECT_EQ(story.spawns, 21);
    EXPECT_EQ(story.state.backoff.in_a_row(), 0U);
    // A crash among them counts as the one it is.
    story.exited().tree_gone();
    EXPECT_EQ(story.state.failures_in_a_row, 1U);
    EXPECT_EQ(story.state.failures_in_window, 1U);
}

TEST(Supervision, OneThatClosesItsInputHasTimeForItsAnswersAndIsReplaced) {
    Story story;
    story.policy.backoff.max_failures = 3;
    story.start().tell(Event::of(EventKind::input_closed, 1));
    EXPECT_EQ(story.state.phase, HelperPhase::cleaning);
    EXPECT_TRUE(story.last.has(EffectKind::drain));
    EXPECT_FALSE(story.last.has(EffectKind::fail_in_flight)) << "what it has read it may still answer";
    EXPECT_EQ(story.state.failure.kind, FailureKind::input_closed);
    story.exited(0).tree_gone();
    EXPECT_EQ(story.spawns, 2);
    // One that always does so is given up, as any other that fails.
    story.spawned().tell(Event::of(EventKind::input_closed, 2)).tree_gone();
    story.now = story.due(Timer::backoff);
    story.timer(Timer::backoff).spawned().tell(Event::of(EventKind::input_closed, 3));
    EXPECT_TRUE(story.last.has(EffectKind::tell_failed));
    story.tree_gone();
    EXPECT_EQ(story.state.phase, HelperPhase::failed);
}

TEST(Supervision, ReplacingAStartThatFailsOrIsGivenUpAsksForNothingMore) {
    Story failed;
    failed.hold().tell(Event::of(EventKind::replace, 1)).tell(Event::of_spawn_failed(1, 11, false));
    failed.now = failed.due(Timer::backoff);
    failed.timer(Timer::backoff).spawned().ready();
    EXPECT_EQ(failed.state.phase, HelperPhase::ready);
    EXPECT_EQ(failed.spawns, 2);

    Story left;
    left.hold().tell(Event::of(EventKind::replace, 1)).release().spawned().tree_gone();
    EXPECT_EQ(left.state.phase, HelperPhase::idle);
    EXPECT_EQ(left.spawns, 1);
}

TEST(Supervision, G6GivesUpAsAStatedStateAndRetryGoesOn) {
    Story story;
    story.policy.backoff.max_failures = 5;
    story.hold();
    for (int i = 0; i < 5; ++i) {
        if (story.state.phase == HelperPhase::backoff) {
            story.now = story.due(Timer::backoff);
            story.timer(Timer::backoff);
        }
        story.spawned().exited(3);
        if (i < 4)
            story.tree_gone();
    }
    EXPECT_TRUE(story.last.has(EffectKind::tell_failed));
    story.tree_gone();
    EXPECT_EQ(story.state.phase, HelperPhase::failed);
    EXPECT_EQ(story.spawns, 5);
    EXPECT_EQ(
        describe_failure(story.state, story.policy),
        "gave up at generation 5: it exited with status 3; 5 failures in a row, 5 in the last 120 s. Call "
        "retry(), or hold it again after 60 s.");
    story.hold(); // within the cool-down: told at once, nothing started
    EXPECT_TRUE(story.last.has(EffectKind::tell_failed));
    EXPECT_EQ(story.spawns, 5);
    story.tell(Event::of(EventKind::retry));
    EXPECT_EQ(story.spawns, 6);
    EXPECT_EQ(story.state.phase, HelperPhase::spawning);
}

TEST(Supervision, ReleasingAndHoldingAgainDoesNotResetThePace) {
    Story story;
    story.start().exited().tree_gone().spawned().exited().tree_gone();
    ASSERT_EQ(story.state.phase, HelperPhase::backoff);
    story.release().hold();
    EXPECT_EQ(story.state.phase, HelperPhase::backoff);
    EXPECT_EQ(story.spawns, 2);
    story.now = story.due(Timer::backoff);
    story.timer(Timer::backoff);
    EXPECT_EQ(story.spawns, 3);
}

TEST(Supervision, AfterTheCoolDownANewHoldTriesAgain) {
    Story story;
    story.hold().tell(Event::of_spawn_failed(1, 2, true)); // no such program: no use in trying again at once
    EXPECT_EQ(story.state.phase, HelperPhase::failed);
    story.release();
    EXPECT_EQ(story.state.phase, HelperPhase::failed);
    story.now += 59s;
    story.hold();
    EXPECT_EQ(story.spawns, 1);
    story.now += 2s;
    story.hold();
    EXPECT_EQ(story.spawns, 2);
}

TEST(Supervision, BackoffResetsWhenReadinessHeldAndNotBefore) {
    Story story;
    story.start().exited().tree_gone().spawned().ready();
    EXPECT_EQ(story.state.backoff.in_a_row(), 1U);
    story.now += 9s;
    story.timer(Timer::steady); // too early
    EXPECT_EQ(story.state.backoff.in_a_row(), 1U);
    story.now += 1s;
    story.timer(Timer::steady);
    EXPECT_EQ(story.state.backoff.in_a_row(), 0U);
}

TEST(Supervision, G7AStartThatMovesIsNeverTimedOut) {
    Story story;
    story.hold().spawned();
    for (std::uint64_t percent = 1; percent <= 100; ++percent) {
        story.now += 29s;
        story.timer(Timer::stall);
        ASSERT_EQ(story.state.phase, HelperPhase::starting) << percent;
        story.tell(Event::of_progress(1, percent));
    }
    story.ready();
    EXPECT_EQ(story.state.phase, HelperPhase::ready);
    EXPECT_EQ(story.spawns, 1);
}

TEST(Supervision, G7AStartThatRepeatsItselfStalls) {
    Story story;
    story.hold().spawned().tell(Event::of_progress(1, 5));
    story.now += 29s;
    story.tell(Event::of_progress(1, 5)); // says something, but nothing new
    story.now += 1s;
    story.timer(Timer::stall);
    EXPECT_EQ(story.state.phase, HelperPhase::cleaning);
    EXPECT_EQ(story.state.failure.kind, FailureKind::stalled);
    EXPECT_TRUE(story.last.has(EffectKind::end_now));
}

TEST(Supervision, AWedgedHelperIsReplacedAndASlowOneIsNot) {
    Story slow;
    slow.start();
    for (int i = 0; i < 50; ++i)
        slow.tell(Event::of(EventKind::health_missed, 1))
            .tell(Event::of(EventKind::health_missed, 1))
            .tell(Event::of(EventKind::answered, 1));
    EXPECT_EQ(slow.state.phase, HelperPhase::ready);

    Story wedged;
    wedged.start();
    for (int i = 0; i < 3; ++i)
        wedged.tell(Event::of(EventKind::health_missed, 1));
    EXPECT_EQ(wedged.state.phase, HelperPhase::cleaning);
    EXPECT_EQ(wedged.state.failure.kind, FailureKind::unanswered);
}

TEST(Supervision, ShutdownIsForEverAndWaitsForTheTree) {
    Story story;
    story.start().tell(Event::of(EventKind::shutdown));
    EXPECT_TRUE(story.last.has(EffectKind::drain));
    EXPECT_FALSE(story.last.has(EffectKind::tell_closed));
    story.hold();
    story.tree_gone();
    EXPECT_EQ(story.state.phase, HelperPhase::closed);
    EXPECT_TRUE(story.last.has(EffectKind::tell_closed));
    story.hold().tell(Event::of(EventKind::retry));
    EXPECT_EQ(story.spawns, 1);
}

TEST(Supervision, ATreeThatVanishesUnannouncedIsACrash) {
    Story story;
    story.start().tree_gone();
    EXPECT_TRUE(story.last.has(EffectKind::fail_in_flight));
    EXPECT_EQ(story.spawns, 2);
    EXPECT_EQ(story.state.failures_in_a_row, 1U);
}

TEST(Supervision, AStrayReleaseChangesNothing) {
    Story story;
    story.release();
    EXPECT_EQ(story.state.holds, 0U);
    story.hold();
    EXPECT_EQ(story.state.holds, 1U);
}

} // namespace
