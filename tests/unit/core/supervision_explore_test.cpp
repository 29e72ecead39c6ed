// Every interleaving of a small world: one helper, up to three holds, starts that succeed or fail, crashes,
// trees that take their time to go, timers, retries and shutdown. The promises of core/supervision.hpp are
// checked at each step, and at each state reached the world is left alone to see where it settles. Tables
// with a single wrong cell must fail the same exploration.
#include "base/text.hpp"
#include "core/supervision.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace holdfast::core;
using namespace holdfast::base;
using namespace std::chrono_literals;

namespace {

// A sanitizer makes every step some thirty times slower. It looks at each step's code and not at how many
// worlds there are: under one, one in so many of the repetitions is enough.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t one_in = 10;
#else
constexpr std::size_t one_in = 1;
#endif

// What the kernel would know: is a start under way, is there a tree, does its first process live, was it told
// to end.
struct World {
    Supervision state;
    Moment now = 1000s;
    bool asked = false;
    bool tree = false;
    bool alive = false;
    bool told_to_end = false;
    bool deaf = false;         // it lives, and has closed its input
    Generation not_wanted = 0; // somebody asked for another than this one
    int spawns = 0;
    std::string wrong; // the first broken promise

    void accuse(const std::string& what) {
        if (wrong.empty())
            wrong = what;
    }
};

SupervisionPolicy small_policy(bool linger) {
    SupervisionPolicy policy;
    policy.backoff.jitter = 0;
    policy.backoff.max_failures = 3;
    policy.health_misses = 2;
    if (linger)
        policy.linger = 5s;
    return policy;
}

bool agrees(Holders holders, std::uint32_t holds) {
    return holders == Holders::any || (holders == Holders::some) == (holds > 0);
}

bool agrees(Process process, const World& world) {
    switch (process) {
    case Process::none:
        return !world.asked && !world.tree;
    case Process::asked:
        return world.asked && !world.tree;
    case Process::running:
        return !world.asked && world.tree && !world.told_to_end;
    case Process::ending:
        return !world.asked && world.tree;
    }
    return false;
}

class Machine {
public:
    Machine(SupervisionPolicy policy, SupervisionTable table)
        : policy_(policy)
        , table_(table) {}

    [[nodiscard]] World after(World world, const Event& event) const {
        const Generation before = world.state.generation;
        const Step result = step(world.state, event, world.now, 0.5, policy_, table_);
        world.state = result.state;
        if (event.generation == before) {
            if (event.kind == EventKind::spawned) {
                world.asked = false;
                world.tree = world.alive = true;
                world.told_to_end = world.deaf = false;
            } else if (event.kind == EventKind::spawn_failed) {
                world.asked = false;
            } else if (event.kind == EventKind::exited) {
                world.alive = false;
            } else if (event.kind == EventKind::input_closed) {
                world.deaf = true;
            } else if (event.kind == EventKind::replace && (world.asked || world.alive)) {
                world.not_wanted = before;
            } else if (event.kind == EventKind::tree_gone) {
                world.tree = world.alive = world.told_to_end = false;
            }
        }
        for (const Effect& effect : result.effects)
            carry_out(world, effect, before);
        const PhaseFacts& facts = facts_of(world.state.phase);
        if (!agrees(facts.holders, world.state.holds))
            world.accuse(cat("phase ", facts.name, " with ", world.state.holds, " holds"));
        if (!agrees(facts.process, world))
            world.accuse(cat("phase ", facts.name, " does not fit what runs"));
        return world;
    }

    // Everything that can happen in this world now.
    [[nodiscard]] std::vector<std::pair<Event, Moment>> possible(const World& world) const {
        const Generation generation = world.state.generation;
        std::vector<std::pair<Event, Moment>> events;
        const auto may = [&](Event event) { events.emplace_back(event, world.now); };
        if (world.state.holds < 3)
            may(Event::of(EventKind::hold));
        if (world.state.holds > 0)
            may(Event::of(EventKind::release));
        if (world.asked) {
            may(Event::of(EventKind::spawned, generation));
            may(Event::of_spawn_failed(generation, 11, false));
            may(Event::of_spawn_failed(generation, 2, true));
        }
        if (world.alive) {
            may(Event::of_exit(generation, {FailureKind::exited, 1}));
            may(Event::of(EventKind::ready, generation));
            may(Event::of_progress(generation, world.state.progress + 1));
            may(Event::of(EventKind::health_missed, generation));
            may(Event::of(EventKind::answered, generation));
            may(Event::of(EventKind::input_closed, generation));
        }
        if (world.tree)
            may(Event::of(EventKind::tree_gone, generation));
        may(Event::of(EventKind::replace, generation));
        if (generation > 0) { // news of the past
            may(Event::of(EventKind::replace, generation - 1));
            may(Event::of_exit(generation - 1, {FailureKind::exited, 1}));
            may(Event::of(EventKind::ready, generation - 1));
        }
        for (std::size_t i = 0; i < timer_count; ++i) {
            const Moment due = world.state.due[i];
            events.emplace_back(Event::of_timer(static_cast<Timer>(i)),
                                due == never ? world.now : std::max(due, world.now));
        }
        if (world.state.holds < 3)
            events.emplace_back(Event::of(EventKind::hold), world.now + 1h); // a hold when any pause is over
        may(Event::of(EventKind::retry));
        may(Event::of(EventKind::shutdown));
        return events;
    }

    // Nobody does anything any more; the machine and a well-behaved helper go on until nothing changes.
    [[nodiscard]] World settled(World world) const {
        for (int round = 0; round < 64; ++round) {
            const Generation generation = world.state.generation;
            if (world.asked)
                world = after(world, Event::of(EventKind::spawned, generation));
            else if (world.alive && world.told_to_end)
                world = after(world, Event::of_exit(generation, {FailureKind::exited, 0}));
            else if (world.tree && !world.alive)
                world = after(world, Event::of(EventKind::tree_gone, generation));
            else if (world.state.phase == HelperPhase::starting ||
                     world.state.phase == HelperPhase::starting_unheld)
                world = after(world, Event::of(EventKind::ready, generation));
            else if (const auto timer = next_timer(world)) {
                world.now = std::max(world.now, world.state.due[static_cast<std::size_t>(*timer)]);
                world = after(world, Event::of_timer(*timer));
            } else
                return world;
        }
        world.accuse("does not come to rest");
        return world;
    }

    // Where does it settle from here, as it is and after everybody has left?
    [[nodiscard]] std::string judge(const World& world) const {
        const World rest = settled(world);
        if (!rest.wrong.empty())
            return rest.wrong;
        const bool shut = rest.state.phase == HelperPhase::closed;
        const bool gave_up = rest.state.phase == HelperPhase::failed;
        if (rest.state.holds > 0 && !shut && !gave_up &&
            !(rest.alive && rest.state.phase == HelperPhase::ready))
            return cat("held, and rests in ", name_of(rest.state.phase), " without a ready helper");
        if (rest.state.holds == 0 && (rest.tree || rest.asked))
            return cat("not held, and a process stays in ", name_of(rest.state.phase));
        if (rest.state.phase == HelperPhase::ready && rest.state.generation == rest.not_wanted)
            return "the generation that was to be replaced is there";
        if (rest.state.phase == HelperPhase::ready && rest.deaf)
            return "called ready, and nothing can be asked of it";
        World left = world;
        while (left.state.holds > 0 && left.wrong.empty())
            left = after(left, Event::of(EventKind::release));
        const int spawns = left.spawns;
        left = settled(left);
        if (!left.wrong.empty())
            return left.wrong;
        if (left.tree || left.asked)
            return "everybody left, and a process stays";
        if (left.spawns != spawns)
            return "everybody left, and something was started";
        if (std::string wrong = judge_crash(world); !wrong.empty())
            return wrong;
        return judge_ways_out(world);
    }

private:
    // Shutdown closes for good; retry, and a hold after the cool-down, bring back what is not shut down.
    [[nodiscard]] std::string judge_ways_out(const World& world) const {
        const World shut = settled(after(world, Event::of(EventKind::shutdown)));
        if (shut.state.phase != HelperPhase::closed || shut.spawns != world.spawns || !shut.wrong.empty())
            return cat("shutdown rests in ", name_of(shut.state.phase), " ", shut.wrong);
        if (settled(world).state.phase == HelperPhase::closed)
            return {};
        const World again = settled(after(world, Event::of(EventKind::retry)));
        const auto resting = again.state.holds > 0 ? HelperPhase::ready : HelperPhase::idle;
        if (again.state.phase != resting)
            return cat("after retry it rests in ", name_of(again.state.phase), " ", again.wrong);
        World later = settled(world);
        later.now += 1h;
        later = settled(after(later, Event::of(EventKind::hold)));
        if (later.state.phase != HelperPhase::ready)
            return cat("a hold much later rests in ", name_of(later.state.phase), " ", later.wrong);
        return {};
    }

    // A crash while held: one replacement, or a stated failure.
    [[nodiscard]] std::string judge_crash(const World& world) const {
        if (!world.alive || world.told_to_end || world.state.holds == 0 ||
            facts_of(world.state.phase).process != Process::running)
            return {};
        const World crashed =
            settled(after(world, Event::of_exit(world.state.generation, {FailureKind::killed, 9})));
        if (!crashed.wrong.empty())
            return crashed.wrong;
        const int wanted = crashed.state.phase == HelperPhase::failed ? 0 : 1;
        if (crashed.spawns - world.spawns != wanted)
            return cat("a crash was answered by ", crashed.spawns - world.spawns, " starts");
        return {};
    }

    static std::optional<Timer> next_timer(const World& world) {
        std::optional<Timer> first;
        Moment due = never;
        for (std::size_t i = 0; i < timer_count; ++i)
            if (world.state.due[i] < due) {
                due = world.state.due[i];
                first = static_cast<Timer>(i);
            }
        return first;
    }

    static void carry_out(World& world, const Effect& effect, Generation before) {
        switch (effect.kind) {
        case EffectKind::spawn:
            if (world.asked || world.tree)
                world.accuse("started a second one beside the first");
            if (world.state.holds == 0)
                world.accuse("started with nobody holding");
            if (effect.generation != before + 1)
                world.accuse("generation does not grow by one");
            world.asked = true;
            ++world.spawns;
            break;
        case EffectKind::drain:
        case EffectKind::end_now:
            world.told_to_end = world.tree;
            break;
        default:
            break;
        }
    }

    SupervisionPolicy policy_;
    SupervisionTable table_;
};

// Two worlds with the same key have the same future: times matter only as "due or not".
auto key_of(const World& world, const SupervisionPolicy& policy) {
    const Supervision& state = world.state;
    unsigned armed = 0;
    for (std::size_t i = 0; i < timer_count; ++i)
        armed |= state.due[i] == never ? 0U : 1U << i;
    const auto verdict = state.backoff.judge(policy.backoff, world.now, 0.5);
    return std::tuple(state.phase, state.holds, world.asked, world.tree, world.alive, world.told_to_end,
                      armed, std::min(verdict.in_a_row, 4U), std::min(verdict.in_window, 4U),
                      world.now < state.not_before, state.health_misses, state.generation > 1,
                      state.generation > 0 && state.unwanted == state.generation, world.deaf,
                      state.generation > 0 && world.not_wanted == state.generation);
}

struct Exploration {
    std::string wrong;
    std::size_t states = 0;
    std::size_t steps = 0;
    std::set<HelperPhase> phases;
};

Exploration explore(const SupervisionPolicy& policy, const SupervisionTable& table) {
    const Machine machine(policy, table);
    Exploration found;
    std::set<decltype(key_of(World{}, policy))> seen;
    std::deque<World> open{World{}};
    seen.insert(key_of(open.front(), policy));
    while (!open.empty()) {
        const World world = open.front();
        open.pop_front();
        ++found.states;
        found.phases.insert(world.state.phase);
        if (found.wrong = machine.judge(world); !found.wrong.empty())
            return found;
        for (const auto& [event, at] : machine.possible(world)) {
            World moved = world;
            moved.now = at;
            const World next = machine.after(moved, event);
            ++found.steps;
            if (!next.wrong.empty()) {
                found.wrong = next.wrong;
                return found;
            }
            if (seen.insert(key_of(next, policy)).second)
                open.push_back(next);
        }
    }
    return found;
}

TEST(SupervisionExploration, EveryInterleavingKeepsThePromises) {
    for (const bool linger : {false, true}) {
        const Exploration found = explore(small_policy(linger), supervision_table());
        EXPECT_EQ(found.wrong, "");
        // Without linger the two unheld phases do not occur; everything else does.
        EXPECT_EQ(found.phases.size(), phase_count - (linger ? 0U : 2U));
        EXPECT_GT(found.states, 200U);
        RecordProperty(linger ? "states_linger" : "states", static_cast<int>(found.states));
    }
}

TEST(SupervisionExploration, ALongRandomWalkKeepsThemToo) {
    const SupervisionPolicy policy = small_policy(true);
    const Machine machine(policy, supervision_table());
    std::mt19937_64 dice(20240417);
    World world;
    for (std::size_t i = 0; i < 200'000 / one_in; ++i) {
        auto events = machine.possible(world);
        events.pop_back(); // shutdown would end the walk
        const auto& [event, at] = events[dice() % events.size()];
        world.now = at + std::chrono::milliseconds(dice() % 300);
        world = machine.after(world, event);
        ASSERT_EQ(world.wrong, "") << "step " << i;
        if (i % 64 == 0) {
            ASSERT_EQ(machine.judge(world), "") << "step " << i;
        }
    }
    EXPECT_GT(world.spawns, static_cast<int>(1000 / one_in));
}

struct Mutation {
    const char* what;
    HelperPhase phase;
    Trigger trigger;
    Cell cell;
};

bool is_caught(const Mutation& mutation) {
    SupervisionTable wrong = supervision_table();
    wrong[static_cast<std::size_t>(mutation.phase)][static_cast<std::size_t>(mutation.trigger)] =
        mutation.cell;
    return !explore(small_policy(false), wrong).wrong.empty() ||
           !explore(small_policy(true), wrong).wrong.empty();
}

// Negative control: the mistakes of the field, one at a time. Each must be found.
TEST(SupervisionExploration, KnownMistakesAreFound) {
    using enum HelperPhase;
    const Mutation mutations[] = {
        {"a keepalive that ignores the hold count", backoff, Trigger::last_release, {backoff, ask_nothing}},
        {"a start that nobody wants any more lives on",
         abandoned,
         Trigger::spawned,
         {starting, ask_arm_stall}},
        {"a hold during the stop starts beside what is stopping",
         stopping,
         Trigger::hold,
         {spawning, ask_spawn}},
        {"a crash is answered before its tree is gone",
         ready,
         Trigger::lost,
         {spawning, ask_count_failure | ask_spawn}},
        {"a crash is answered twice", spawning, Trigger::spawned, {starting, ask_arm_stall | ask_spawn}},
        {"a crash is not answered", ready, Trigger::lost, {stopping, ask_count_failure | ask_end_now}},
        {"a failure is not counted, so the loop never ends... and a start comes at once",
         cleaning,
         Trigger::tree_gone_paced,
         {cleaning, ask_nothing}},
        {"shutdown forgets a start under way", spawning, Trigger::shutdown, {closed, ask_tell_closed}},
        {"the linger never ends", ready_unheld, Trigger::linger_over, {ready_unheld, ask_nothing}},
        {"a lingering helper is replaced",
         ready_unheld,
         Trigger::lost,
         {cleaning, ask_count_failure | ask_end_now}},
        {"retry with nobody there starts one",
         failed,
         Trigger::retry_unheld,
         {spawning, ask_forget | ask_spawn}},
        {"the last release is overlooked", ready, Trigger::last_release, {ready, ask_nothing}},
        {"closing opens again", closing, Trigger::hold, {stopping_wanted, ask_nothing}},
    };
    for (const Mutation& mutation : mutations)
        EXPECT_TRUE(is_caught(mutation)) << mutation.what;
}

// Cells whose absence no world of this kind can show, though the cell test does: a start lies always after
// the pause, so no hold is early while something runs; and a retry during the backoff only makes it shorter.
bool is_invisible_here(HelperPhase phase, Trigger trigger) {
    using enum HelperPhase;
    return (trigger == Trigger::hold_paced &&
            (phase == abandoned || phase == starting_unheld || phase == ready_unheld)) ||
           (trigger == Trigger::retry && phase == backoff);
}

// And any other transition that is left out.
TEST(SupervisionExploration, AnyMissingTransitionIsFound) {
    std::size_t missing = 0;
    for (std::size_t p = 0; p < phase_count; ++p)
        for (std::size_t t = 0; t < trigger_count; ++t) {
            const auto phase = static_cast<HelperPhase>(p);
            if (supervision_table()[p][t].next == phase || is_invisible_here(phase, static_cast<Trigger>(t)))
                continue;
            if (++missing % one_in != 0)
                continue;
            const Mutation mutation{"left out", phase, static_cast<Trigger>(t), {phase, ask_nothing}};
            EXPECT_TRUE(is_caught(mutation)) << name_of(phase) << " " << name_of(static_cast<Trigger>(t));
        }
    EXPECT_GT(missing, 60U);
}

} // namespace
