// The protocol's table, written out a second time from docs/slot-protocol.md, cell by cell. A change of the
// protocol has to be made in both places, and so has to be meant.
#include "core/slot_protocol.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holdfast::core {
namespace {

using enum SlotStep;

constexpr SlotCell no{}; // the locks make it impossible

// Columns: door_granted, file_replaced, nobody, leftovers_wait, leftovers_end, owner_let_be, owner_wait,
// owner_patient, owner_may_be_asked, owner_stalled, owner_newer, owner_forbidden, owner_gone, life_free,
// time_to_look, grace_over, deadline.
struct Row {
    SlotStep step;
    SlotCell cells[seen_count];
};

constexpr SlotCell to_door{door, Do::go_to_door};
constexpr SlotCell leave{left, Do::report};
constexpr SlotCell leave_door{left, Do::leave_door_report};

const Row expected[] = {
    {door, {{inside, Do::look_inside}, no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, leave}},
    {inside,
     {no,
      {door, Do::reopen},
      {owner, Do::take},
      {waiting, Do::leave_door_wait},
      {leftovers, Do::term_leftovers},
      leave_door,
      {waiting, Do::leave_door_wait},
      {patient, Do::leave_door_watch},
      {asked, Do::leave_door_term},
      {asked, Do::leave_door_term},
      leave_door,
      leave_door,
      no,
      no,
      no,
      no,
      no}},
    {leftovers,
     {no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      {owner, Do::take},
      {leftovers, Do::keep_watching},
      {leftovers_killed, Do::kill_leftovers},
      no}},
    {leftovers_killed,
     {no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      no,
      {owner, Do::take},
      {leftovers_killed, Do::kill_leftovers},
      no,
      leave_door}},
    {waiting,
     {no,
      no,
      no,
      no,
      no,
      leave,
      {waiting, Do::keep_watching},
      no,
      no,
      no,
      no,
      no,
      {waiting, Do::see_to_leftovers},
      to_door,
      {waiting, Do::look_outside},
      no,
      leave}},
    {patient,
     {no,
      no,
      no,
      no,
      no,
      no,
      no,
      {patient, Do::keep_watching},
      {asked, Do::term_owner},
      {asked, Do::term_owner},
      leave,
      leave,
      to_door,
      to_door,
      {patient, Do::look_outside},
      no,
      leave}},
    {asked,
     {no,
      no,
      no,
      no,
      no,
      no,
      no,
      {asked, Do::keep_watching},
      {asked, Do::keep_watching},
      {asked, Do::keep_watching},
      leave,
      leave,
      to_door,
      to_door,
      {asked, Do::look_outside},
      {killed, Do::kill_owner},
      leave}},
    {killed,
     {no,
      no,
      no,
      no,
      no,
      no,
      no,
      {killed, Do::keep_watching},
      {killed, Do::keep_watching},
      {killed, Do::keep_watching},
      leave,
      leave,
      to_door,
      to_door,
      {killed, Do::look_outside},
      no,
      leave}},
    {owner, {no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, no}},
    {left, {no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, no}},
};

TEST(SlotProtocol, EveryCellIsAsWrittenDown) {
    std::size_t compared = 0;
    std::set<SlotStep> rows;
    for (const Row& row : expected) {
        rows.insert(row.step);
        for (std::size_t seen = 0; seen < seen_count; ++seen, ++compared) {
            SlotCell got = protocol_step(row.step, static_cast<Seen>(seen));
            EXPECT_EQ(got, row.cells[seen])
                << name_of(row.step) << " x " << name_of(static_cast<Seen>(seen)) << ": next "
                << name_of(got.next) << ", effect " << static_cast<int>(got.effect);
        }
    }
    EXPECT_EQ(rows.size(), step_count);
    EXPECT_EQ(compared, step_count * seen_count);
}

TEST(SlotProtocol, EveryStepIsReachedAndEveryRoadCanEnd) {
    std::set<SlotStep> reached{door};
    for (bool grew = true; grew;) {
        grew = false;
        for (SlotStep step : std::set<SlotStep>(reached))
            for (std::size_t seen = 0; seen < seen_count; ++seen)
                if (SlotCell cell = protocol_step(step, static_cast<Seen>(seen)); cell.effect != Do::never)
                    grew |= reached.insert(cell.next).second;
    }
    EXPECT_EQ(reached.size(), step_count);

    std::set<SlotStep> ends{owner, left};
    for (bool grew = true; grew;) {
        grew = false;
        for (std::size_t step = 0; step < step_count; ++step)
            for (std::size_t seen = 0; seen < seen_count; ++seen)
                if (SlotCell cell = slot_protocol[step][seen];
                    cell.effect != Do::never && ends.contains(cell.next))
                    grew |= ends.insert(static_cast<SlotStep>(step)).second;
    }
    EXPECT_EQ(ends.size(), step_count);
}

// G3, G8: nobody is signalled from a step in which it is not known who that is.
TEST(SlotProtocol, OwnersAreSignalledOnlyAfterAJudgementOfThem) {
    for (std::size_t step = 0; step < step_count; ++step)
        for (std::size_t seen = 0; seen < seen_count; ++seen) {
            SlotCell cell = slot_protocol[step][seen];
            auto what = static_cast<Seen>(seen);
            if (cell.effect == Do::term_owner || cell.effect == Do::leave_door_term) {
                EXPECT_TRUE(what == Seen::owner_may_be_asked || what == Seen::owner_stalled) << name_of(what);
            }
            if (cell.effect == Do::kill_owner) {
                EXPECT_EQ(what, Seen::grace_over);
                EXPECT_EQ(static_cast<SlotStep>(step), asked);
            }
        }
}

TEST(SlotProtocol, NamesAreDistinct) {
    std::set<std::string> names;
    for (std::size_t step = 0; step < step_count; ++step)
        names.insert(std::string(name_of(static_cast<SlotStep>(step))));
    EXPECT_EQ(names.size(), step_count);
    names.clear();
    for (std::size_t seen = 0; seen < seen_count; ++seen)
        names.insert(std::string(name_of(static_cast<Seen>(seen))));
    EXPECT_EQ(names.size(), seen_count);
}

} // namespace
} // namespace holdfast::core
