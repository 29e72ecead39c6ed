#include "core/supervision_table.hpp"

namespace holdfast::core {

namespace {

using enum HelperPhase;
using T = Trigger;

constexpr std::array<PhaseFacts, phase_count> facts{{
    {"idle", Holders::none, Process::none, 0},
    {"spawning", Holders::some, Process::asked, 0},
    {"abandoned", Holders::none, Process::asked, 0},
    {"starting", Holders::some, Process::running, stall_bit},
    {"starting_unheld", Holders::none, Process::running, stall_bit | linger_bit},
    {"ready", Holders::some, Process::running, steady_bit},
    {"ready_unheld", Holders::none, Process::running, steady_bit | linger_bit},
    {"cleaning", Holders::some, Process::ending, 0},
    {"backoff", Holders::some, Process::none, backoff_bit},
    {"stopping", Holders::none, Process::ending, 0},
    {"stopping_wanted", Holders::some, Process::ending, 0},
    {"giving_up", Holders::any, Process::ending, 0},
    {"failed", Holders::any, Process::none, 0},
    {"closing_spawn", Holders::any, Process::asked, 0},
    {"closing", Holders::any, Process::ending, 0},
    {"closed", Holders::any, Process::none, 0},
}};

constexpr std::array<std::string_view, trigger_count> trigger_names{"hold",
                                                                    "hold_paced",
                                                                    "release",
                                                                    "last_release",
                                                                    "last_release_linger",
                                                                    "spawned",
                                                                    "spawn_failed",
                                                                    "spawn_failed_final",
                                                                    "progress",
                                                                    "ready",
                                                                    "steady",
                                                                    "lost",
                                                                    "lost_final",
                                                                    "deaf",
                                                                    "deaf_final",
                                                                    "replaced",
                                                                    "linger_over",
                                                                    "backoff_over",
                                                                    "retry",
                                                                    "retry_unheld",
                                                                    "shutdown",
                                                                    "tree_gone",
                                                                    "tree_gone_paced",
                                                                    "noted"};

struct Entry {
    HelperPhase phase;
    Trigger trigger;
    HelperPhase next;
    std::uint16_t asks = ask_nothing;
};

constexpr std::uint16_t lose = ask_count_failure | ask_fail_in_flight | ask_end_now;
constexpr std::uint16_t lose_for_good = lose | ask_tell_failed;
// What it has read already it may finish, as at a release.
constexpr std::uint16_t lose_deaf = ask_count_failure | ask_drain;
constexpr std::uint16_t lose_deaf_for_good = lose_deaf | ask_tell_failed;
constexpr std::uint16_t replace = ask_fail_in_flight | ask_end_now;
constexpr std::uint16_t done = ask_fail_in_flight | ask_tell_closed;

// Every cell that does something. What is not listed stays where it is and asks for nothing.
constexpr Entry entries[] = {
    {idle, T::hold, spawning, ask_spawn},
    {idle, T::hold_paced, backoff, ask_arm_backoff},
    {idle, T::retry_unheld, idle, ask_forget},
    {idle, T::shutdown, closed, ask_tell_closed},

    {spawning, T::last_release, abandoned},
    {spawning, T::last_release_linger, abandoned},
    {spawning, T::spawned, starting, ask_arm_stall},
    {spawning, T::spawn_failed, backoff, ask_count_failure | ask_arm_backoff},
    {spawning, T::spawn_failed_final, failed, ask_count_failure | ask_tell_failed},
    {spawning, T::retry, spawning, ask_forget},
    {spawning, T::shutdown, closing_spawn},

    {abandoned, T::hold, spawning},
    {abandoned, T::hold_paced, spawning},
    {abandoned, T::spawned, stopping, ask_end_now},
    {abandoned, T::spawn_failed, idle, ask_count_failure},
    {abandoned, T::spawn_failed_final, failed, ask_count_failure},
    {abandoned, T::retry_unheld, abandoned, ask_forget},
    {abandoned, T::shutdown, closing_spawn},

    {starting, T::last_release, stopping, ask_drain},
    {starting, T::last_release_linger, starting_unheld, ask_arm_linger},
    {starting, T::progress, starting, ask_arm_stall},
    {starting, T::ready, ready, ask_arm_steady | ask_tell_ready},
    {starting, T::lost, cleaning, lose},
    {starting, T::lost_final, giving_up, lose_for_good},
    {starting, T::deaf, cleaning, lose_deaf},
    {starting, T::deaf_final, giving_up, lose_deaf_for_good},
    {starting, T::replaced, cleaning, replace},
    {starting, T::shutdown, closing, ask_drain},

    {starting_unheld, T::hold, starting},
    {starting_unheld, T::hold_paced, starting},
    {starting_unheld, T::progress, starting_unheld, ask_arm_stall},
    {starting_unheld, T::ready, ready_unheld, ask_arm_steady | ask_tell_ready},
    {starting_unheld, T::lost, stopping, lose},
    {starting_unheld, T::lost_final, giving_up, lose_for_good},
    {starting_unheld, T::deaf, stopping, lose_deaf},
    {starting_unheld, T::deaf_final, giving_up, lose_deaf_for_good},
    {starting_unheld, T::replaced, stopping, replace},
    {starting_unheld, T::linger_over, stopping, ask_drain},
    {starting_unheld, T::shutdown, closing, ask_drain},

    {ready, T::last_release, stopping, ask_drain},
    {ready, T::last_release_linger, ready_unheld, ask_arm_linger},
    {ready, T::steady, ready, ask_good_run},
    {ready, T::lost, cleaning, lose},
    {ready, T::lost_final, giving_up, lose_for_good},
    {ready, T::deaf, cleaning, lose_deaf},
    {ready, T::deaf_final, giving_up, lose_deaf_for_good},
    {ready, T::replaced, cleaning, replace},
    {ready, T::shutdown, closing, ask_drain},

    {ready_unheld, T::hold, ready},
    {ready_unheld, T::hold_paced, ready},
    {ready_unheld, T::steady, ready_unheld, ask_good_run},
    {ready_unheld, T::lost, stopping, lose},
    {ready_unheld, T::lost_final, giving_up, lose_for_good},
    {ready_unheld, T::deaf, stopping, lose_deaf},
    {ready_unheld, T::deaf_final, giving_up, lose_deaf_for_good},
    {ready_unheld, T::replaced, stopping, replace},
    {ready_unheld, T::linger_over, stopping, ask_drain},
    {ready_unheld, T::shutdown, closing, ask_drain},

    {cleaning, T::last_release, stopping},
    {cleaning, T::last_release_linger, stopping},
    {cleaning, T::retry, cleaning, ask_forget},
    {cleaning, T::shutdown, closing},
    {cleaning, T::tree_gone, spawning, ask_spawn},
    {cleaning, T::tree_gone_paced, backoff, ask_arm_backoff},

    {backoff, T::last_release, idle},
    {backoff, T::last_release_linger, idle},
    {backoff, T::backoff_over, spawning, ask_spawn},
    {backoff, T::retry, spawning, ask_forget | ask_spawn},
    {backoff, T::shutdown, closed, ask_tell_closed},

    {stopping, T::hold, stopping_wanted},
    {stopping, T::hold_paced, stopping_wanted},
    {stopping, T::lost, stopping, ask_fail_in_flight},
    {stopping, T::retry_unheld, stopping, ask_forget},
    {stopping, T::shutdown, closing},
    {stopping, T::tree_gone, idle, ask_fail_in_flight},
    {stopping, T::tree_gone_paced, idle, ask_fail_in_flight},

    {stopping_wanted, T::last_release, stopping},
    {stopping_wanted, T::last_release_linger, stopping},
    {stopping_wanted, T::lost, stopping_wanted, ask_fail_in_flight},
    {stopping_wanted, T::retry, stopping_wanted, ask_forget},
    {stopping_wanted, T::shutdown, closing},
    {stopping_wanted, T::tree_gone, spawning, ask_fail_in_flight | ask_spawn},
    {stopping_wanted, T::tree_gone_paced, backoff, ask_fail_in_flight | ask_arm_backoff},

    {giving_up, T::hold, giving_up, ask_tell_failed},
    {giving_up, T::hold_paced, giving_up, ask_tell_failed},
    {giving_up, T::retry, cleaning, ask_forget},
    {giving_up, T::retry_unheld, stopping, ask_forget},
    {giving_up, T::shutdown, closing},
    {giving_up, T::tree_gone, failed},
    {giving_up, T::tree_gone_paced, failed},

    {failed, T::hold, spawning, ask_forget | ask_spawn},
    {failed, T::hold_paced, failed, ask_tell_failed},
    {failed, T::retry, spawning, ask_forget | ask_spawn},
    {failed, T::retry_unheld, idle, ask_forget},
    {failed, T::shutdown, closed, ask_tell_closed},

    {closing_spawn, T::hold, closing_spawn, ask_tell_closed},
    {closing_spawn, T::hold_paced, closing_spawn, ask_tell_closed},
    {closing_spawn, T::spawned, closing, ask_end_now},
    {closing_spawn, T::spawn_failed, closed, ask_tell_closed},
    {closing_spawn, T::spawn_failed_final, closed, ask_tell_closed},

    {closing, T::hold, closing, ask_tell_closed},
    {closing, T::hold_paced, closing, ask_tell_closed},
    {closing, T::lost, closing, ask_fail_in_flight},
    {closing, T::tree_gone, closed, done},
    {closing, T::tree_gone_paced, closed, done},

    {closed, T::hold, closed, ask_tell_closed},
    {closed, T::hold_paced, closed, ask_tell_closed},
    {closed, T::shutdown, closed, ask_tell_closed},
};

constexpr SupervisionTable build() {
    SupervisionTable table{};
    for (std::size_t phase = 0; phase < phase_count; ++phase)
        for (Cell& cell : table[phase])
            cell = Cell{static_cast<HelperPhase>(phase), ask_nothing};
    for (const Entry& entry : entries)
        table[static_cast<std::size_t>(entry.phase)][static_cast<std::size_t>(entry.trigger)] =
            Cell{entry.next, entry.asks};
    return table;
}

constexpr SupervisionTable the_table = build();

constexpr const PhaseFacts& facts_at(HelperPhase phase) {
    return facts[static_cast<std::size_t>(phase)];
}

// What must be true of every single cell is proved by the compiler.
constexpr bool listed_once() {
    for (const Entry& one : entries)
        for (const Entry& other : entries)
            if (&one != &other && one.phase == other.phase && one.trigger == other.trigger)
                return false;
    return true;
}

template <class Rule>
constexpr bool every_cell(Rule rule) {
    for (std::size_t phase = 0; phase < phase_count; ++phase)
        for (std::size_t trigger = 0; trigger < trigger_count; ++trigger)
            if (!rule(static_cast<HelperPhase>(phase), static_cast<Trigger>(trigger),
                      the_table[phase][trigger]))
                return false;
    return true;
}

static_assert(listed_once());

// A start is asked for exactly on the way from "nothing is left" to spawning, and only where somebody holds.
static_assert(every_cell([](HelperPhase phase, Trigger trigger, Cell cell) {
    const bool enters = cell.next == spawning && facts_at(phase).process != Process::asked;
    const bool nothing_left = facts_at(phase).process == Process::none || trigger == T::tree_gone;
    return enters == ((cell.asks & ask_spawn) != 0) && (!enters || nothing_left);
}));

// Nothing leaves the closed end of the table.
static_assert(every_cell([](HelperPhase phase, Trigger, Cell cell) {
    const auto shut = [](HelperPhase p) { return p == closing_spawn || p == closing || p == closed; };
    return !shut(phase) || shut(cell.next);
}));

// A running helper ends by a stop plan or by being ended: it never just disappears from the books.
static_assert(every_cell([](HelperPhase phase, Trigger, Cell cell) {
    const bool leaves =
        facts_at(phase).process == Process::running && facts_at(cell.next).process != Process::running;
    const bool ends = (cell.asks & (ask_drain | ask_end_now)) != 0;
    return !leaves || (ends && facts_at(cell.next).process == Process::ending);
}));

// What is noted is never a reason to act.
static_assert(every_cell([](HelperPhase phase, Trigger trigger, Cell cell) {
    return trigger != T::noted || (cell.next == phase && cell.asks == ask_nothing);
}));

} // namespace

const SupervisionTable& supervision_table() noexcept {
    return the_table;
}

const PhaseFacts& facts_of(HelperPhase phase) noexcept {
    return facts_at(phase);
}

std::string_view name_of(HelperPhase phase) noexcept {
    return facts_at(phase).name;
}

std::string_view name_of(Trigger trigger) noexcept {
    return trigger_names[static_cast<std::size_t>(trigger)];
}

} // namespace holdfast::core
