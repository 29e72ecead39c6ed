// Every cell of the supervision table, run through step() and compared with what is written here a second
// time, in the words of the effects. Whoever changes the table has to change this list as well, and to mean
// it.
#include "base/text.hpp"
#include "core/supervision.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

using namespace holdfast::core;
using namespace holdfast::base;
using namespace std::chrono_literals;

namespace {

constexpr Moment now = 1000s;
constexpr Generation current = 7;

// "phase trigger -> next: effects". Timers that the old phase had and the new one may not have are cancelled.
// "count": a failure was remembered; "forget": the row of failures is over. Cells that are not listed ignore
// the trigger: same phase, no effect.
constexpr const char* expected_cells = R"(
idle hold -> spawning: spawn 8
idle hold_paced -> backoff: arm backoff +500ms
idle retry_unheld -> idle: forget
idle shutdown -> closed: tell_closed 7

spawning last_release -> abandoned:
spawning last_release_linger -> abandoned:
spawning spawned -> starting: arm stall +30000ms
spawning spawn_failed -> backoff: count, arm backoff +100ms
spawning spawn_failed_final -> failed: count, tell_failed 7
spawning retry -> spawning: forget
spawning shutdown -> closing_spawn:

abandoned hold -> spawning:
abandoned hold_paced -> spawning:
abandoned spawned -> stopping: end_now 7
abandoned spawn_failed -> idle: count
abandoned spawn_failed_final -> failed: count
abandoned retry_unheld -> abandoned: forget
abandoned shutdown -> closing_spawn:

starting last_release -> stopping: cancel stall, drain 7
starting last_release_linger -> starting_unheld: arm linger +5000ms
starting progress -> starting: arm stall +30000ms
starting ready -> ready: cancel stall, arm steady +10000ms, tell_ready 7
starting lost -> cleaning: count, cancel stall, fail_in_flight 7, end_now 7
starting lost_final -> giving_up: count, cancel stall, fail_in_flight 7, end_now 7, tell_failed 7
starting deaf -> cleaning: count, cancel stall, drain 7
starting deaf_final -> giving_up: count, cancel stall, drain 7, tell_failed 7
starting replaced -> cleaning: cancel stall, fail_in_flight 7, end_now 7
starting shutdown -> closing: cancel stall, drain 7
starting tree_gone -> spawning: count, cancel stall, fail_in_flight 7, end_now 7, spawn 8
starting tree_gone_paced -> backoff: count, cancel stall, fail_in_flight 7, end_now 7, arm backoff +100ms

starting_unheld hold -> starting: cancel linger
starting_unheld hold_paced -> starting: cancel linger
starting_unheld progress -> starting_unheld: arm stall +30000ms
starting_unheld ready -> ready_unheld: cancel stall, arm steady +10000ms, tell_ready 7
starting_unheld lost -> stopping: count, cancel linger, cancel stall, fail_in_flight 7, end_now 7
starting_unheld lost_final -> giving_up: count, cancel linger, cancel stall, fail_in_flight 7, end_now 7, tell_failed 7
starting_unheld deaf -> stopping: count, cancel linger, cancel stall, drain 7
starting_unheld deaf_final -> giving_up: count, cancel linger, cancel stall, drain 7, tell_failed 7
starting_unheld replaced -> stopping: cancel linger, cancel stall, fail_in_flight 7, end_now 7
starting_unheld linger_over -> stopping: cancel stall, drain 7
starting_unheld shutdown -> closing: cancel linger, cancel stall, drain 7
starting_unheld tree_gone -> idle: count, cancel linger, cancel stall, fail_in_flight 7, end_now 7, fail_in_flight 7
starting_unheld tree_gone_paced -> idle: count, cancel linger, cancel stall, fail_in_flight 7, end_now 7, fail_in_flight 7

ready last_release -> stopping: cancel steady, drain 7
ready last_release_linger -> ready_unheld: arm linger +5000ms
ready steady -> ready: forget
ready lost -> cleaning: count, cancel steady, fail_in_flight 7, end_now 7
ready lost_final -> giving_up: count, cancel steady, fail_in_flight 7, end_now 7, tell_failed 7
ready deaf -> cleaning: count, cancel steady, drain 7
ready deaf_final -> giving_up: count, cancel steady, drain 7, tell_failed 7
ready replaced -> cleaning: cancel steady, fail_in_flight 7, end_now 7
ready shutdown -> closing: cancel steady, drain 7
ready tree_gone -> spawning: count, cancel steady, fail_in_flight 7, end_now 7, spawn 8
ready tree_gone_paced -> backoff: count, cancel steady, fail_in_flight 7, end_now 7, arm backoff +100ms

ready_unheld hold -> ready: cancel linger
ready_unheld hold_paced -> ready: cancel linger
ready_unheld steady -> ready_unheld: forget
ready_unheld lost -> stopping: count, cancel linger, cancel steady, fail_in_flight 7, end_now 7
ready_unheld lost_final -> giving_up: count, cancel linger, cancel steady, fail_in_flight 7, end_now 7, tell_failed 7
ready_unheld deaf -> stopping: count, cancel linger, cancel steady, drain 7
ready_unheld deaf_final -> giving_up: count, cancel linger, cancel steady, drain 7, tell_failed 7
ready_unheld replaced -> stopping: cancel linger, cancel steady, fail_in_flight 7, end_now 7
ready_unheld linger_over -> stopping: cancel steady, drain 7
ready_unheld shutdown -> closing: cancel linger, cancel steady, drain 7
ready_unheld tree_gone -> idle: count, cancel linger, cancel steady, fail_in_flight 7, end_now 7, fail_in_flight 7
ready_unheld tree_gone_paced -> idle: count, cancel linger, cancel steady, fail_in_flight 7, end_now 7, fail_in_flight 7

cleaning last_release -> stopping:
cleaning last_release_linger -> stopping:
cleaning retry -> cleaning: forget
cleaning shutdown -> closing:
cleaning tree_gone -> spawning: spawn 8
cleaning tree_gone_paced -> backoff: arm backoff +500ms

backoff last_release -> idle: cancel backoff
backoff last_release_linger -> idle: cancel backoff
backoff backoff_over -> spawning: spawn 8
backoff retry -> spawning: forget, cancel backoff, spawn 8
backoff shutdown -> closed: cancel backoff, tell_closed 7

stopping hold -> stopping_wanted:
stopping hold_paced -> stopping_wanted:
stopping lost -> stopping: fail_in_flight 7
stopping retry_unheld -> stopping: forget
stopping shutdown -> closing:
stopping tree_gone -> idle: fail_in_flight 7
stopping tree_gone_paced -> idle: fail_in_flight 7

stopping_wanted last_release -> stopping:
stopping_wanted last_release_linger -> stopping:
stopping_wanted lost -> stopping_wanted: fail_in_flight 7
stopping_wanted retry -> stopping_wanted: forget
stopping_wanted shutdown -> closing:
stopping_wanted tree_gone -> spawning: fail_in_flight 7, spawn 8
stopping_wanted tree_gone_paced -> backoff: fail_in_flight 7, arm backoff +500ms

giving_up hold -> giving_up: tell_failed 7
giving_up hold_paced -> giving_up: tell_failed 7
giving_up retry -> cleaning: forget
giving_up retry_unheld -> stopping: forget
giving_up shutdown -> closing:
giving_up tree_gone -> failed:
giving_up tree_gone_paced -> failed:

failed hold -> spawning: forget, spawn 8
failed hold_paced -> failed: tell_failed 7
failed retry -> spawning: forget, spawn 8
failed retry_unheld -> idle: forget
failed shutdown -> closed: tell_closed 7

closing_spawn hold -> closing_spawn: tell_closed 7
closing_spawn hold_paced -> closing_spawn: tell_closed 7
closing_spawn spawned -> closing: end_now 7
closing_spawn spawn_failed -> closed: tell_closed 7
closing_spawn spawn_failed_final -> closed: tell_closed 7

closing hold -> closing: tell_closed 7
closing hold_paced -> closing: tell_closed 7
closing lost -> closing: fail_in_flight 7
closing tree_gone -> closed: fail_in_flight 7, tell_closed 7
closing tree_gone_paced -> closed: fail_in_flight 7, tell_closed 7

closed hold -> closed: tell_closed 7
closed hold_paced -> closed: tell_closed 7
closed shutdown -> closed: tell_closed 7
)";

std::map<std::string, std::string> parse_expected() {
    std::map<std::string, std::string> cells;
    std::string text = expected_cells;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (const std::size_t arrow = line.find(" -> "); arrow != std::string::npos) {
            EXPECT_TRUE(cells.emplace(line.substr(0, arrow), line.substr(arrow + 4)).second) << line;
        }
        at = end + 1;
    }
    return cells;
}

std::string timer_name(Timer timer) {
    constexpr const char* names[] = {"linger", "backoff", "stall", "steady"};
    return names[static_cast<std::size_t>(timer)];
}

std::string text_of(const Effect& effect) {
    switch (effect.kind) {
    case EffectKind::spawn:
        return cat("spawn ", effect.generation);
    case EffectKind::drain:
        return cat("drain ", effect.generation);
    case EffectKind::end_now:
        return cat("end_now ", effect.generation);
    case EffectKind::fail_in_flight:
        return cat("fail_in_flight ", effect.generation);
    case EffectKind::arm:
        return cat("arm ", timer_name(effect.timer), " +",
                   std::chrono::duration_cast<std::chrono::milliseconds>(effect.due - now).count(), "ms");
    case EffectKind::cancel:
        return cat("cancel ", timer_name(effect.timer));
    case EffectKind::tell_ready:
        return cat("tell_ready ", effect.generation);
    case EffectKind::tell_failed:
        return cat("tell_failed ", effect.generation);
    case EffectKind::tell_closed:
        return cat("tell_closed ", effect.generation);
    }
    return "?";
}

std::string text_of(const Step& result, const Supervision& before) {
    std::string text{name_of(result.state.phase)};
    text += ':';
    const char* separator = " ";
    if (const auto row = result.state.backoff.in_a_row(); row != before.backoff.in_a_row()) {
        text += row == 0 ? " forget" : " count";
        separator = ", ";
    }
    for (const Effect& effect : result.effects) {
        text += separator + text_of(effect);
        separator = ", ";
    }
    return text;
}

// A state, an event and a policy that make a trigger in a phase; nothing when the phase excludes it.
struct Scene {
    Supervision state;
    Event event;
    SupervisionPolicy policy;
};

std::uint32_t fitting_holds(HelperPhase phase, Trigger trigger) {
    const Holders holders = facts_of(phase).holders;
    if (trigger == Trigger::release)
        return holders == Holders::none ? 0 : 2;
    if (trigger == Trigger::retry_unheld)
        return holders == Holders::some ? 1 : 0;
    return holders == Holders::none ? 0 : 1;
}

Event event_for(Trigger trigger) {
    switch (trigger) {
    case Trigger::hold:
    case Trigger::hold_paced:
        return Event::of(EventKind::hold);
    case Trigger::release:
    case Trigger::last_release:
    case Trigger::last_release_linger:
        return Event::of(EventKind::release);
    case Trigger::spawned:
        return Event::of(EventKind::spawned, current);
    case Trigger::spawn_failed:
    case Trigger::spawn_failed_final:
        return Event::of_spawn_failed(current, 11, false);
    case Trigger::progress:
        return Event::of_progress(current, 42);
    case Trigger::ready:
        return Event::of(EventKind::ready, current);
    case Trigger::steady:
        return Event::of_timer(Timer::steady);
    case Trigger::lost:
    case Trigger::lost_final:
        return Event::of_exit(current, {FailureKind::exited, 3});
    case Trigger::deaf:
    case Trigger::deaf_final:
        return Event::of(EventKind::input_closed, current);
    case Trigger::replaced:
        return Event::of(EventKind::replace, current);
    case Trigger::linger_over:
        return Event::of_timer(Timer::linger);
    case Trigger::backoff_over:
        return Event::of_timer(Timer::backoff);
    case Trigger::retry:
    case Trigger::retry_unheld:
        return Event::of(EventKind::retry);
    case Trigger::shutdown:
        return Event::of(EventKind::shutdown);
    case Trigger::tree_gone:
    case Trigger::tree_gone_paced:
        return Event::of(EventKind::tree_gone, current);
    case Trigger::noted:
        return Event::of(EventKind::ready, current - 1);
    }
    return {};
}

Scene scene_for(HelperPhase phase, Trigger trigger) {
    Scene scene;
    scene.event = event_for(trigger);
    scene.policy.backoff.jitter = 0;
    scene.policy.backoff.max_failures = 4;
    if (trigger == Trigger::last_release_linger)
        scene.policy.linger = 5s;
    Supervision& state = scene.state;
    state.phase = phase;
    state.generation = current;
    state.holds = fitting_holds(phase, trigger);
    const bool final = trigger == Trigger::lost_final || trigger == Trigger::deaf_final ||
                       trigger == Trigger::spawn_failed_final;
    const bool paced_tree = trigger == Trigger::tree_gone_paced;
    const bool forgets = trigger == Trigger::retry || trigger == Trigger::retry_unheld ||
                         trigger == Trigger::steady || trigger == Trigger::hold;
    const int earlier = final ? 3 : (trigger == Trigger::spawn_failed || paced_tree || forgets) ? 1 : 0;
    for (int i = 0; i < earlier; ++i)
        state.backoff.record(scene.policy.backoff, now - 1s, 0.5);
    if (trigger == Trigger::hold_paced || paced_tree)
        state.not_before = now + 500ms;
    for (std::size_t i = 0; i < timer_count; ++i)
        if ((facts_of(phase).timers & (1U << i)) != 0)
            state.due[i] = now + 1s;
    if (scene.event.kind == EventKind::timer &&
        (facts_of(phase).timers & (1U << static_cast<unsigned>(scene.event.timer))) != 0)
        state.due[static_cast<std::size_t>(scene.event.timer)] = now;
    return scene;
}

TEST(SupervisionTable, EveryCellDoesWhatIsWritten) {
    const auto expected = parse_expected();
    std::set<std::string> used;
    std::size_t run = 0;
    for (std::size_t p = 0; p < phase_count; ++p)
        for (std::size_t t = 0; t < trigger_count; ++t) {
            const auto phase = static_cast<HelperPhase>(p);
            const auto trigger = static_cast<Trigger>(t);
            const Scene scene = scene_for(phase, trigger);
            const std::string name = cat(name_of(phase), " ", name_of(trigger));
            const Trigger got = classify(scene.state, scene.event, now, 0.5, scene.policy);
            if (expected.contains(name)) {
                EXPECT_EQ(name_of(got), name_of(trigger)) << name << ": listed, but the phase excludes it";
                used.insert(name);
            }
            // Where the phase excludes the trigger (nobody there to release), the event counts as another
            // one.
            const auto listed = expected.find(cat(name_of(phase), " ", name_of(got)));
            const std::string want = listed != expected.end() ? listed->second : cat(name_of(phase), ":");
            EXPECT_EQ(text_of(step(scene.state, scene.event, now, 0.5, scene.policy), scene.state), want)
                << name;
            ++run;
        }
    EXPECT_EQ(run, phase_count * trigger_count);
    EXPECT_EQ(used.size(), expected.size()) << "a listed cell names no phase or trigger";
}

// Replacement is a matter of where the process is: what runs is ended, what is asked for is ended when it
// runs, and there is nothing to replace elsewhere. It is never a failure.
TEST(SupervisionTable, ReplaceInEveryPhase) {
    for (std::size_t p = 0; p < phase_count; ++p) {
        const auto phase = static_cast<HelperPhase>(p);
        Scene scene = scene_for(phase, Trigger::noted);
        scene.event = Event::of(EventKind::replace, current);
        const Step result = step(scene.state, scene.event, now, 0.5, scene.policy);
        const Process process = facts_of(phase).process;
        EXPECT_EQ(result.effects.has(EffectKind::end_now), process == Process::running) << name_of(phase);
        EXPECT_EQ(result.state.unwanted, process == Process::asked ? current : 0U) << name_of(phase);
        EXPECT_EQ(result.state.backoff.in_a_row(), 0U) << name_of(phase);
        if (process == Process::asked) {
            const Step there =
                step(result.state, Event::of(EventKind::spawned, current), now, 0.5, scene.policy);
            EXPECT_EQ(facts_of(there.state.phase).process, Process::ending) << name_of(phase);
            EXPECT_TRUE(there.effects.has(EffectKind::end_now)) << name_of(phase);
        }
    }
}

// The table holds no entry that can never be used: what a phase excludes is empty there.
TEST(SupervisionTable, CellsThatNoEventReachesAreEmpty) {
    for (std::size_t p = 0; p < phase_count; ++p)
        for (std::size_t t = 0; t < trigger_count; ++t) {
            const auto phase = static_cast<HelperPhase>(p);
            const auto trigger = static_cast<Trigger>(t);
            const Scene scene = scene_for(phase, trigger);
            if (classify(scene.state, scene.event, now, 0.5, scene.policy) == trigger)
                continue;
            EXPECT_EQ(supervision_table()[p][t], (Cell{phase, ask_nothing}))
                << name_of(phase) << " " << name_of(trigger);
        }
}

// Negative control of the cell test: each cell that does something, made to do nothing, is seen by it.
TEST(SupervisionTable, AnyCellThatIsTakenOutIsNoticed) {
    const auto expected = parse_expected();
    std::size_t taken_out = 0;
    for (std::size_t p = 0; p < phase_count; ++p)
        for (std::size_t t = 0; t < trigger_count; ++t) {
            const auto phase = static_cast<HelperPhase>(p);
            const auto trigger = static_cast<Trigger>(t);
            SupervisionTable wrong = supervision_table();
            if (wrong[p][t] == Cell{phase, ask_nothing})
                continue;
            wrong[p][t] = Cell{phase, ask_nothing};
            const Scene scene = scene_for(phase, trigger);
            const Step result = step(scene.state, scene.event, now, 0.5, scene.policy, wrong);
            const std::string name = cat(name_of(phase), " ", name_of(trigger));
            ASSERT_TRUE(expected.contains(name)) << name;
            EXPECT_NE(text_of(result, scene.state), expected.at(name)) << name;
            ++taken_out;
        }
    EXPECT_GT(taken_out, 90U);
}

} // namespace
