#include "core/slot_protocol.hpp"

namespace holdfast::core {

namespace {

constexpr ProtocolTable build() {
    ProtocolTable table{};
    // Every cell not named below is Do::never. Written out, though SlotCell's defaults say the same: g++ 12
    // leaves elements of a nested constexpr array that were never assigned as zeros in the object it emits,
    // while its own static_assert sees the defaults.
    for (auto& row : table)
        row.fill(SlotCell{SlotStep::left, Do::never});
    auto cell = [&table](SlotStep step, Seen seen, SlotStep next, Do effect) {
        table[static_cast<std::size_t>(step)][static_cast<std::size_t>(seen)] = SlotCell{next, effect};
    };
    using enum SlotStep;
    using enum Seen;

    cell(door, door_granted, inside, Do::look_inside);
    cell(door, deadline, left, Do::report);

    // Inside the door nobody else can start, so what is seen here can only change from held to free.
    cell(inside, file_replaced, door, Do::reopen);
    cell(inside, nobody, owner, Do::take);
    // Who only waits for leftovers leaves the door to those who may end them.
    cell(inside, leftovers_wait, waiting, Do::leave_door_wait);
    cell(inside, leftovers_end, leftovers, Do::term_leftovers);
    cell(inside, owner_let_be, left, Do::leave_door_report);
    cell(inside, owner_wait, waiting, Do::leave_door_wait);
    cell(inside, owner_patient, patient, Do::leave_door_watch);
    cell(inside, owner_may_be_asked, asked, Do::leave_door_term);
    cell(inside, owner_stalled, asked, Do::leave_door_term);
    cell(inside, owner_newer, left, Do::leave_door_report);
    cell(inside, owner_forbidden, left, Do::leave_door_report);

    // The leftovers are gone: life is ours, and the door still is, so nobody came between.
    cell(leftovers, life_free, owner, Do::take);
    cell(leftovers, grace_over, leftovers_killed, Do::kill_leftovers);
    cell(leftovers, time_to_look, leftovers, Do::keep_watching);
    cell(leftovers_killed, life_free, owner, Do::take);
    // All that were killed have ended and life is still held: they had forked meanwhile.
    cell(leftovers_killed, time_to_look, leftovers_killed, Do::kill_leftovers);
    cell(leftovers_killed, deadline, left, Do::leave_door_report);

    cell(waiting, life_free, door, Do::go_to_door);
    // Who waits for leftovers must see a faster starter become the owner: life is held again then, and does
    // not tell.
    cell(waiting, time_to_look, waiting, Do::look_outside);
    cell(waiting, owner_let_be, left, Do::report);
    cell(waiting, owner_wait, waiting, Do::keep_watching);
    // What a helper's dead guards left holds life until somebody ends it: nobody else will, perhaps. It is
    // known by the helper's own entry and not by this life, so no door is needed.
    cell(waiting, owner_gone, waiting, Do::see_to_leftovers);
    cell(waiting, deadline, left, Do::report);

    cell(patient, life_free, door, Do::go_to_door);
    cell(patient, time_to_look, patient, Do::look_outside);
    cell(patient, owner_patient, patient, Do::keep_watching);
    cell(patient, owner_may_be_asked, asked, Do::term_owner);
    cell(patient, owner_stalled, asked, Do::term_owner);
    cell(patient, owner_newer, left, Do::report);
    cell(patient, owner_forbidden, left, Do::report);
    cell(patient, owner_gone, door, Do::go_to_door);
    cell(patient, deadline, left, Do::report);

    // After TERM the owner is given its grace whatever it says of itself, but a newer owner is never touched.
    cell(asked, life_free, door, Do::go_to_door);
    cell(asked, time_to_look, asked, Do::look_outside);
    cell(asked, owner_patient, asked, Do::keep_watching);
    cell(asked, owner_may_be_asked, asked, Do::keep_watching);
    cell(asked, owner_stalled, asked, Do::keep_watching);
    cell(asked, owner_newer, left, Do::report);
    cell(asked, owner_forbidden, left, Do::report);
    cell(asked, owner_gone, door, Do::go_to_door);
    cell(asked, grace_over, killed, Do::kill_owner);
    cell(asked, deadline, left, Do::report);

    cell(killed, life_free, door, Do::go_to_door);
    cell(killed, time_to_look, killed, Do::look_outside);
    cell(killed, owner_patient, killed, Do::keep_watching);
    cell(killed, owner_may_be_asked, killed, Do::keep_watching);
    cell(killed, owner_stalled, killed, Do::keep_watching);
    cell(killed, owner_newer, left, Do::report);
    cell(killed, owner_forbidden, left, Do::report);
    cell(killed, owner_gone, door, Do::go_to_door);
    cell(killed, deadline, left, Do::report);

    return table;
}

} // namespace

constexpr ProtocolTable built = build();
const ProtocolTable slot_protocol = built;

// What must hold of the table by itself, checked when it is compiled.
static_assert([] {
    for (std::size_t seen = 0; seen < seen_count; ++seen)
        for (SlotStep end : {SlotStep::owner, SlotStep::left})
            if (built[static_cast<std::size_t>(end)][seen].effect != Do::never)
                return false; // an end is an end
    for (std::size_t step = 0; step < step_count; ++step) {
        SlotCell newer = built[step][static_cast<std::size_t>(Seen::owner_newer)];
        if (newer.effect != Do::never && newer.next != SlotStep::left)
            return false; // a newer owner is always left alone
        for (std::size_t seen = 0; seen < seen_count; ++seen) {
            SlotCell cell = built[step][seen];
            bool takes = cell.effect == Do::take;
            bool door_held = static_cast<SlotStep>(step) == SlotStep::inside ||
                             static_cast<SlotStep>(step) == SlotStep::leftovers ||
                             static_cast<SlotStep>(step) == SlotStep::leftovers_killed;
            if (takes && !door_held)
                return false; // ownership begins inside the door only
            if ((cell.effect == Do::term_leftovers || cell.effect == Do::kill_leftovers) && !door_held)
                return false; // leftovers are ended inside the door only
            if (takes != (cell.next == SlotStep::owner))
                return false;
        }
    }
    return true;
}());

std::string_view name_of(SlotStep step) noexcept {
    constexpr std::array<std::string_view, step_count> names{
        "door",   "inside", "leftovers", "leftovers_killed", "waiting", "patient", "asked",
        "killed", "owner",  "left"};
    return names[static_cast<std::size_t>(step)];
}

std::string_view name_of(Seen seen) noexcept {
    constexpr std::array<std::string_view, seen_count> names{
        "door_granted", "file_replaced",   "nobody",        "leftovers_wait",     "leftovers_end",
        "owner_let_be", "owner_wait",      "owner_patient", "owner_may_be_asked", "owner_stalled",
        "owner_newer",  "owner_forbidden", "owner_gone",    "life_free",          "time_to_look",
        "grace_over",   "deadline"};
    return names[static_cast<std::size_t>(seen)];
}

} // namespace holdfast::core
