// A fork of the owner owns nothing, and takes nothing away.
#include "slot/actor.hpp"

namespace holdfast::slot_test {
namespace {

class Fork : public SlotTest {};

TEST_F(Fork, TheChildOwnsNothingAndClosesNothingOfTheParents) {
    Actor owner = actor(), late = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    EXPECT_EQ(owner.ask("fork"), "child 0");
    EXPECT_EQ(owner.ask("still-mine"), "ok");
    EXPECT_EQ(owner.ask("ready"), "ok");
    EXPECT_SAYS(late.ask("acquire refuse"), "error held ");
    owner.kill();
    EXPECT_EQ(late.ask("acquire refuse"), "owned 2");
}

// Only who was given life_fd() keeps the slot; a plain fork that lives on does not.
TEST_F(Fork, AForkedChildThatLivesOnDoesNotKeepTheSlot) {
    Actor owner = actor(), next = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_SAYS(owner.ask("plain-fork"), "forked ");
    owner.kill();
    // The fork's copy is closed in the child's first steps, which may come after the parent's end.
    EXPECT_TRUE(harness::eventually(soon(), [this] { return look().state == SlotState::free; }));
    EXPECT_EQ(next.ask("acquire refuse"), "owned 2");
}

} // namespace
} // namespace holdfast::slot_test
