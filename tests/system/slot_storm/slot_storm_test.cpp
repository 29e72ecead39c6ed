// G1 one owner: 20,000 barrier-synchronised start storms of 2 to 16 processes, with readers beside them.
#include "slot_storm/storm.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace holdfast::storm {
namespace {

std::uint64_t rounds() {
    if (const char* text = std::getenv("HOLDFAST_STORM_ROUNDS"))
        return std::strtoull(text, nullptr, 10);
    return HOLDFAST_STORM_ROUNDS_DEFAULT;
}

void tell(const char* what, const Tally& tally) {
    std::cout << what << ": " << tally.rounds << " rounds (" << tally.empty << " empty, " << tally.stale
              << " stale, " << tally.torn << " torn, " << tally.orphaned << " orphaned), " << tally.attempts
              << " attempts, " << tally.owners << " ownerships, two at once in " << tally.rounds_with_two
              << " rounds (at most " << tally.most_at_once << "), " << tally.told_held << " told held, "
              << tally.false_held << " of them falsely, " << tally.reader_looks << " looks of readers, "
              << tally.seconds << " s\n";
}

TEST(G1OneOwner, NoStormGivesTwoOwnersOrAFalseHeld) {
    Tally tally = run({.rounds = rounds(), .readers = 2, .seed = 4711});
    tell("slot", tally);
    EXPECT_EQ(tally.first_failure, "");
    EXPECT_EQ(tally.rounds, rounds());
    EXPECT_EQ(tally.double_owners, 0u);
    EXPECT_EQ(tally.rounds_with_two, 0u);
    EXPECT_EQ(tally.most_at_once, 1u);
    EXPECT_EQ(tally.ownerless_rounds, 0u);
    EXPECT_EQ(tally.false_held, 0u);
    EXPECT_EQ(tally.epoch_errors, 0u);
    EXPECT_EQ(tally.failures, 0u);
    EXPECT_EQ(tally.reader_failures, 0u);
    // The storm was one: people were turned away, readers did look, every state occurred.
    EXPECT_GT(tally.told_held, tally.rounds / 2);
    EXPECT_GT(tally.reader_looks, 0u);
    EXPECT_GE(tally.orphaned, tally.rounds / 16);
}

// The same storm, the same counting, the algorithm of the field: it must be caught.
TEST(G1OneOwner, NegativeControlUnlinkAndCreateGivesTwoOwners) {
    Tally tally = run({.algorithm = Algorithm::unlink_and_create,
                       .rounds = 200'000,
                       .processes = 4,
                       .readers = 0,
                       .seed = 4711,
                       .until_two = true});
    tell("unlink-and-create", tally);
    EXPECT_EQ(tally.first_failure, "");
    EXPECT_GT(tally.rounds_with_two, 0u);
    EXPECT_GT(tally.most_at_once, 1u);
}

} // namespace
} // namespace holdfast::storm
