#include "core/supervision.hpp"

#include "base/text.hpp"

#include <utility>

namespace holdfast::core {

namespace {

constexpr std::uint8_t bit_of(Timer timer) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(timer));
}
static_assert(bit_of(Timer::linger) == linger_bit && bit_of(Timer::backoff) == backoff_bit &&
              bit_of(Timer::stall) == stall_bit && bit_of(Timer::steady) == steady_bit);

base::Moment& due_of(Supervision& state, Timer timer) {
    return state.due[static_cast<std::size_t>(timer)];
}
base::Moment due_of(const Supervision& state, Timer timer) {
    return state.due[static_cast<std::size_t>(timer)];
}

bool is_shut(HelperPhase phase) {
    return phase == HelperPhase::closing_spawn || phase == HelperPhase::closing ||
           phase == HelperPhase::closed;
}

// Does the event tell of a process, and of another one than the present?
bool is_stale(const Supervision& state, const Event& event) {
    switch (event.kind) {
    case EventKind::hold:
    case EventKind::release:
    case EventKind::timer:
    case EventKind::retry:
    case EventKind::shutdown:
        return false;
    default:
        return event.generation != state.generation;
    }
}

// A running helper was lost: is it once too often?
Trigger lost_or_final(const Supervision& state, base::Moment now, double dice,
                      const SupervisionPolicy& policy) {
    return state.backoff.judge(policy.backoff, now, dice).give_up ? Trigger::lost_final : Trigger::lost;
}

Trigger classify_timer(const Supervision& state, Timer timer, base::Moment now, double dice,
                       const SupervisionPolicy& policy) {
    // A timer that was cancelled or moved may fire all the same when it was already under way.
    if (now < due_of(state, timer) || due_of(state, timer) == base::never)
        return Trigger::noted;
    switch (timer) {
    case Timer::linger:
        return Trigger::linger_over;
    case Timer::backoff:
        return Trigger::backoff_over;
    case Timer::steady:
        return Trigger::steady;
    case Timer::stall:
        return lost_or_final(state, now, dice, policy);
    }
    return Trigger::noted;
}

Failure failure_of(const Event& event) {
    switch (event.kind) {
    case EventKind::timer:
        return {FailureKind::stalled, 0};
    case EventKind::health_missed:
        return {FailureKind::unanswered, 0};
    case EventKind::input_closed:
        return {FailureKind::input_closed, 0};
    default:
        return event.failure;
    }
}

void count_failure(Supervision& state, const Event& event, base::Moment now, double dice,
                   const SupervisionPolicy& policy) {
    const Backoff::Verdict verdict = state.backoff.record(policy.backoff, now, dice);
    state.failure = failure_of(event);
    state.failures_in_a_row = verdict.in_a_row;
    state.failures_in_window = verdict.in_window;
    state.not_before = verdict.not_before;
    if (verdict.give_up || (event.kind == EventKind::spawn_failed && event.permanent))
        state.not_before = policy.cool_down.count() == 0 ? base::never : base::after(now, policy.cool_down);
}

// The counting that goes with an event, whatever the table makes of it.
void note(Supervision& state, const Event& event, Trigger trigger) {
    switch (event.kind) {
    case EventKind::hold:
        if (!is_shut(state.phase))
            ++state.holds;
        break;
    case EventKind::release:
        if (state.holds > 0)
            --state.holds;
        break;
    case EventKind::progress:
        if (trigger == Trigger::progress)
            state.progress = event.value;
        break;
    case EventKind::answered:
    case EventKind::ready:
        if (event.generation == state.generation)
            state.health_misses = 0;
        break;
    case EventKind::health_missed:
        if (event.generation == state.generation &&
            (state.phase == HelperPhase::ready || state.phase == HelperPhase::ready_unheld))
            ++state.health_misses;
        break;
    case EventKind::replace:
        if (event.generation == state.generation && facts_of(state.phase).process == Process::asked)
            state.unwanted = event.generation;
        if (trigger == Trigger::replaced)
            state.failure = {FailureKind::replaced, 0};
        break;
    case EventKind::timer: // it has fired: it is no longer armed
        if (trigger != Trigger::noted)
            due_of(state, event.timer) = base::never;
        break;
    default:
        break;
    }
}

void cancel_timers_outside(Supervision& state, std::uint8_t allowed, Effects& effects) {
    for (std::size_t i = 0; i < timer_count; ++i) {
        const auto timer = static_cast<Timer>(i);
        if ((allowed & bit_of(timer)) == 0 && due_of(state, timer) != base::never) {
            due_of(state, timer) = base::never;
            effects.add({.kind = EffectKind::cancel, .timer = timer});
        }
    }
}

void arm(Supervision& state, Timer timer, base::Moment due, Effects& effects) {
    due_of(state, timer) = due;
    if (due != base::never)
        effects.add({.kind = EffectKind::arm, .timer = timer, .due = due});
}

void carry_out(Supervision& state, std::uint16_t asks, const Event& event, base::Moment now, double dice,
               const SupervisionPolicy& policy, Effects& effects) {
    const auto asked = [asks](Ask ask) { return (asks & ask) != 0; };
    const auto tell = [&](EffectKind kind) { effects.add({.kind = kind, .generation = state.generation}); };
    if (asked(ask_count_failure))
        count_failure(state, event, now, dice, policy);
    if (asked(ask_forget)) {
        state.backoff.forget();
        state.not_before = base::Moment{0};
    }
    if (asked(ask_good_run))
        state.backoff.run_was_good();
    if (asked(ask_fail_in_flight))
        tell(EffectKind::fail_in_flight);
    if (asked(ask_drain))
        tell(EffectKind::drain);
    if (asked(ask_end_now))
        tell(EffectKind::end_now);
    if (asked(ask_spawn)) {
        ++state.generation;
        state.progress = 0;
        state.health_misses = 0;
        tell(EffectKind::spawn);
    }
    if (asked(ask_arm_linger))
        arm(state, Timer::linger, base::after(now, policy.linger), effects);
    if (asked(ask_arm_backoff))
        arm(state, Timer::backoff, state.not_before, effects);
    if (asked(ask_arm_stall))
        arm(state, Timer::stall, policy.stall.count() == 0 ? base::never : base::after(now, policy.stall),
            effects);
    if (asked(ask_arm_steady))
        arm(state, Timer::steady, base::after(now, policy.backoff.reset_after_held), effects);
    if (asked(ask_tell_ready))
        tell(EffectKind::tell_ready);
    if (asked(ask_tell_failed))
        tell(EffectKind::tell_failed);
    if (asked(ask_tell_closed))
        tell(EffectKind::tell_closed);
}

void step_in_place(Supervision& state, const Event& event, base::Moment now, double dice,
                   const SupervisionPolicy& policy, const SupervisionTable& table, Effects& effects) {
    const Trigger trigger = classify(state, event, now, dice, policy);
    const Cell cell = table[static_cast<std::size_t>(state.phase)][static_cast<std::size_t>(trigger)];
    note(state, event, trigger);
    state.phase = cell.next;
    cancel_timers_outside(state, facts_of(cell.next).timers, effects);
    carry_out(state, cell.asks, event, now, dice, policy, effects);
}

} // namespace

Trigger classify(const Supervision& state, const Event& event, base::Moment now, double dice,
                 const SupervisionPolicy& policy) {
    const Process process = facts_of(state.phase).process;
    const bool paced = now < state.not_before;
    if (is_stale(state, event))
        return Trigger::noted;
    switch (event.kind) {
    case EventKind::hold:
        return paced ? Trigger::hold_paced : Trigger::hold;
    case EventKind::release:
        if (state.holds == 0)
            return Trigger::noted;
        if (state.holds > 1)
            return Trigger::release;
        return policy.linger.count() > 0 ? Trigger::last_release_linger : Trigger::last_release;
    case EventKind::spawned:
        return Trigger::spawned;
    case EventKind::spawn_failed: {
        const bool final = event.permanent || state.backoff.judge(policy.backoff, now, dice).give_up;
        return final ? Trigger::spawn_failed_final : Trigger::spawn_failed;
    }
    case EventKind::progress:
        return event.value == state.progress ? Trigger::noted : Trigger::progress;
    case EventKind::ready:
        return Trigger::ready;
    case EventKind::exited:
        if (process == Process::running)
            return lost_or_final(state, now, dice, policy);
        return process == Process::ending ? Trigger::lost : Trigger::noted;
    case EventKind::answered:
        return Trigger::noted;
    case EventKind::health_missed:
        // Silence during a start is the stall timer's business.
        if (state.phase != HelperPhase::ready && state.phase != HelperPhase::ready_unheld)
            return Trigger::noted;
        if (policy.health_misses == 0 || state.health_misses + 1 < policy.health_misses)
            return Trigger::noted;
        return lost_or_final(state, now, dice, policy);
    case EventKind::input_closed:
        if (process != Process::running)
            return Trigger::noted; // an end is under way
        return lost_or_final(state, now, dice, policy) == Trigger::lost ? Trigger::deaf : Trigger::deaf_final;
    case EventKind::replace:
        return process == Process::running ? Trigger::replaced : Trigger::noted;
    case EventKind::timer:
        return classify_timer(state, event.timer, now, dice, policy);
    case EventKind::retry:
        return state.holds > 0 ? Trigger::retry : Trigger::retry_unheld;
    case EventKind::shutdown:
        return Trigger::shutdown;
    case EventKind::tree_gone:
        return paced ? Trigger::tree_gone_paced : Trigger::tree_gone;
    }
    return Trigger::noted;
}

Step step(const Supervision& state, const Event& event, base::Moment now, double dice,
          const SupervisionPolicy& policy, const SupervisionTable& table) {
    Step result{state, {}};
    // A tree that is gone has exited, also when nobody said so: its keeper may have died with it.
    if (event.kind == EventKind::tree_gone && !is_stale(state, event) &&
        facts_of(state.phase).process == Process::running) {
        Event exited = event;
        exited.kind = EventKind::exited;
        step_in_place(result.state, exited, now, dice, policy, table, result.effects);
    }
    step_in_place(result.state, event, now, dice, policy, table, result.effects);
    // What could not be replaced before it was there is replaced now.
    if (event.kind == EventKind::spawned && !is_stale(state, event) && state.unwanted == state.generation)
        step_in_place(result.state, Event::of(EventKind::replace, event.generation), now, dice, policy, table,
                      result.effects);
    return result;
}

} // namespace holdfast::core
