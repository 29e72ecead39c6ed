// Whether an owner may be asked to leave. Times are boot time in ms; patience is 30 s unless said otherwise.
#include "core/takeover.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace holdfast::core {
using namespace base;
namespace {

constexpr std::int64_t now = 1'000'000;
constexpr std::int64_t stall = 30'000;

OwnerSight owner_in(Phase phase, std::uint64_t epoch = 7) {
    Record record{.epoch = epoch, .phase = phase, .progress_at = now, .since = now};
    return {.epoch = epoch, .pid = 4711, .is_self = false, .record = record};
}

TEST(Takeover, ReadyAndDrainingOwnersMayBeAsked) {
    for (Phase phase : {Phase::ready, Phase::draining}) {
        TakeoverMemory memory;
        auto got = judge_takeover(owner_in(phase), memory, now, stall);
        EXPECT_EQ(got.seen, Seen::owner_may_be_asked);
        EXPECT_FALSE(got.too_many);
        EXPECT_EQ(memory.meant_epoch, 7u);
    }
}

TEST(Takeover, AStartingOwnerGetsItsPatienceFromItsLastProgress) {
    TakeoverMemory memory;
    OwnerSight owner = owner_in(Phase::starting);
    owner.record->progress_at = now - 10'000;
    auto got = judge_takeover(owner, memory, now, stall);
    EXPECT_EQ(got.seen, Seen::owner_patient);
    EXPECT_EQ(got.look_again_at, now + 20'000);
    EXPECT_EQ(judge_takeover(owner, memory, now + 19'999, stall).seen, Seen::owner_patient);
    EXPECT_EQ(judge_takeover(owner, memory, now + 20'000, stall).seen, Seen::owner_stalled);
}

TEST(Takeover, ProgressMovesTheEndOfPatience) {
    TakeoverMemory memory;
    OwnerSight owner = owner_in(Phase::starting);
    std::int64_t at = now;
    // Twice as long as any patience, and never a stall.
    for (std::uint64_t done = 1; done < 100; ++done) {
        owner.record->progress_done = done;
        at += stall - 1;
        auto got = judge_takeover(owner, memory, at, stall);
        ASSERT_EQ(got.seen, Seen::owner_patient) << done;
        ASSERT_EQ(got.look_again_at, done == 1 ? now + stall : at + stall) << done;
    }
    EXPECT_EQ(judge_takeover(owner, memory, at + stall, stall).seen, Seen::owner_stalled);
}

TEST(Takeover, ProgressBackwardsIsMovementToo) {
    TakeoverMemory memory;
    OwnerSight owner = owner_in(Phase::starting);
    owner.record->progress_done = 50;
    (void)judge_takeover(owner, memory, now, stall);
    owner.record->progress_done = 3; // a second stage that counts anew
    EXPECT_EQ(judge_takeover(owner, memory, now + stall, stall).seen, Seen::owner_patient);
}

// The stamp is the owner's word: it may shorten patience at the first look, and never lengthen it.
TEST(Takeover, AStampFromTheFutureBuysNothing) {
    TakeoverMemory memory;
    OwnerSight owner = owner_in(Phase::starting);
    owner.record->progress_at = now + 1'000'000'000;
    EXPECT_EQ(judge_takeover(owner, memory, now, stall).look_again_at, now + stall);
    EXPECT_EQ(judge_takeover(owner, memory, now + stall, stall).seen, Seen::owner_stalled);
}

TEST(Takeover, RewritingTheStampWithoutProgressIsAStall) {
    TakeoverMemory memory;
    OwnerSight owner = owner_in(Phase::starting);
    (void)judge_takeover(owner, memory, now, stall);
    for (std::int64_t at = now; at < now + stall; at += 1000) {
        owner.record->progress_at = at;
        ASSERT_EQ(judge_takeover(owner, memory, at, stall).seen, Seen::owner_patient);
    }
    EXPECT_EQ(judge_takeover(owner, memory, now + stall, stall).seen, Seen::owner_stalled);
}

TEST(Takeover, NoRecordATornOneOrAnOlderOneIsAStartWithoutProgress) {
    for (int kind = 0; kind < 2; ++kind) {
        TakeoverMemory memory;
        OwnerSight owner = owner_in(Phase::ready);
        if (kind == 0)
            owner.record.reset();
        else
            owner.record->epoch = 6; // the predecessor's, and it says ready
        auto got = judge_takeover(owner, memory, now, stall);
        EXPECT_EQ(got.seen, Seen::owner_patient) << kind;
        EXPECT_EQ(got.look_again_at, now + stall) << kind;
        EXPECT_EQ(judge_takeover(owner, memory, now + stall, stall).seen, Seen::owner_stalled) << kind;
    }
}

TEST(Takeover, AskedForPatienceIsGrantedUpToAnHour) {
    TakeoverMemory memory;
    OwnerSight owner = owner_in(Phase::starting);
    owner.record->patience_until = now + 600'000;
    auto got = judge_takeover(owner, memory, now + stall, stall);
    EXPECT_EQ(got.seen, Seen::owner_patient);
    EXPECT_EQ(got.look_again_at, now + 600'000);
    EXPECT_EQ(judge_takeover(owner, memory, now + 600'000, stall).seen, Seen::owner_stalled);
}

TEST(Takeover, MoreThanAnHourAheadIsNotBelieved) {
    TakeoverMemory memory;
    OwnerSight owner = owner_in(Phase::starting);
    owner.record->patience_until = now + stall + max_patience_request.count() + 1;
    EXPECT_EQ(judge_takeover(owner, memory, now + stall, stall).seen, Seen::owner_stalled);
    owner.record->patience_until = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(judge_takeover(owner, memory, now + stall, stall).seen, Seen::owner_stalled);
}

TEST(Takeover, PatienceThatEndsEarlierThanTheStallTakesNothingAway) {
    TakeoverMemory memory;
    OwnerSight owner = owner_in(Phase::starting);
    owner.record->patience_until = now + 1;
    EXPECT_EQ(judge_takeover(owner, memory, now + 2, stall).seen, Seen::owner_patient);
}

TEST(Takeover, ANewerEpochIsLeftAloneWhateverItSays) {
    for (Phase phase : {Phase::starting, Phase::ready, Phase::draining})
        for (std::uint64_t epoch : {6u, 8u, 100u}) {
            TakeoverMemory memory;
            (void)judge_takeover(owner_in(Phase::ready), memory, now, stall);
            EXPECT_EQ(judge_takeover(owner_in(phase, epoch), memory, now + 10 * stall, stall).seen,
                      Seen::owner_newer);
        }
}

TEST(Takeover, WhomWeCannotOrMustNotSignalIsForbidden) {
    TakeoverMemory memory;
    OwnerSight elsewhere = owner_in(Phase::ready);
    elsewhere.pid = 0;
    EXPECT_EQ(judge_takeover(elsewhere, memory, now, stall).seen, Seen::owner_forbidden);
    OwnerSight self = owner_in(Phase::ready);
    self.is_self = true;
    EXPECT_EQ(judge_takeover(self, memory, now, stall).seen, Seen::owner_forbidden);
}

TEST(Takeover, TheSixthWithinAMinuteIsTooMany) {
    OwnerSight owner = owner_in(Phase::ready);
    for (int before = 0; before < max_takeovers + 2; ++before) {
        TakeoverMemory memory;
        auto got = judge_takeover(owner, memory, now, stall);
        EXPECT_EQ(got.too_many, before >= max_takeovers) << before;
        EXPECT_EQ(got.seen, before >= max_takeovers ? Seen::owner_forbidden : Seen::owner_may_be_asked)
            << before;
        owner.record->takeovers.push_back(now - 59'999);
    }
}

TEST(Takeover, OldTakeoversAndThoseOfTheFutureDoNotCount) {
    OwnerSight owner = owner_in(Phase::ready);
    owner.record->takeovers.assign(20, now - takeover_window.count());
    owner.record->takeovers.insert(owner.record->takeovers.end(), 20, now + 1);
    TakeoverMemory memory;
    EXPECT_EQ(judge_takeover(owner, memory, now, stall).seen, Seen::owner_may_be_asked);
    EXPECT_TRUE(recent_takeovers(*owner.record, now).empty());
}

// Whatever a hostile or torn record says, arithmetic on it is defined (the sanitizer build watches).
TEST(Takeover, ExtremeStampsDoNotOverflow) {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    OwnerSight owner = owner_in(Phase::starting);
    owner.record->takeovers = {least, least + 1, 0, most};
    owner.record->progress_at = least;
    owner.record->patience_until = least;
    EXPECT_TRUE(recent_takeovers(*owner.record, now).empty());
    TakeoverMemory memory;
    EXPECT_EQ(judge_takeover(owner, memory, now, most).seen, Seen::owner_patient);
}

// A record of another epoch, or of nobody we know, speaks for nobody: it does not forbid a takeover either.
TEST(Takeover, TakeoversInARecordThatIsNotTheOwnersDoNotCount) {
    OwnerSight owner = owner_in(Phase::ready);
    owner.record->epoch = 6;
    owner.record->takeovers.assign(20, now - 1);
    TakeoverMemory memory;
    auto got = judge_takeover(owner, memory, now, stall);
    EXPECT_FALSE(got.too_many);
    EXPECT_EQ(got.seen, Seen::owner_patient);
}

} // namespace
} // namespace holdfast::core
