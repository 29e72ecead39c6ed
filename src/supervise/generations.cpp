// The machine and its effects; holds; what is known of the process.
#include "supervise/generations.hpp"

#include "base/text.hpp"
#include "sys/proc.hpp"
#include "sys/random.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::supervise {

using core::EventKind;
using core::HelperPhase;

namespace {

bool is_shut(HelperPhase phase) {
    return phase == HelperPhase::closing || phase == HelperPhase::closing_spawn ||
           phase == HelperPhase::closed;
}

bool gave_up(HelperPhase phase) {
    return phase == HelperPhase::failed || phase == HelperPhase::giving_up;
}

} // namespace

Generations::Turn::Turn(Generations& process)
    : Lock(process)
    , process_(process)
    , alive_(process.events_.weak_from_this().lock()) {
    process_.events_.begin_of_turn(*this);
}

Generations::Turn::~Turn() {
    process_.events_.end_of_turn(*this);
    const base::Moment due = process_.next_due(*this);
    EventLoop::Timer* const timer = process_.timer_.get();
    lock().unlock();
    for (auto& task : posted_)
        process_.engine_->loop->post(
            [weak = std::weak_ptr<GenerationEvents>(alive_), task = std::move(task)] {
                if (const auto alive = weak.lock())
                    task();
            });
    if (due != base::never && timer != nullptr)
        timer->by(due);
    if (after_)
        after_();
    for (auto& task : more_after_)
        task();
}

void Generations::Turn::after(std::move_only_function<void()> task) {
    if (after_)
        more_after_.push_back(std::move(task));
    else
        after_ = std::move(task);
}

Generations::Generations(ProcessSpec spec, std::shared_ptr<Engine> engine, GenerationEvents& events)
    : spec_(std::move(spec))
    , engine_(std::move(engine))
    , events_(events)
    , label_(label_of(spec_))
    , dice_state_(std::hash<std::string>{}(sys::random_token()) | 1U) {}

Generations::~Generations() = default;

void Generations::apply(Turn& turn, const core::Event& event) {
    // xorshift: the spread of a wait needs no better dice.
    dice_state_ ^= dice_state_ << 13;
    dice_state_ ^= dice_state_ >> 7;
    dice_state_ ^= dice_state_ << 17;
    const double dice = static_cast<double>(dice_state_ >> 11) / static_cast<double>(std::uint64_t{1} << 53);
    const HelperPhase before = machine_.phase;
    core::Step result = core::step(machine_, event, now_moment(), dice, spec_.policy);
    machine_ = result.state;
    for (const core::Effect& effect : result.effects)
        carry_out(turn, effect);
    if (machine_.phase != before) {
        events_.on_changed(turn);
        changed_.notify_all();
    }
}

void Generations::carry_out(Turn& turn, const core::Effect& effect) {
    using core::EffectKind;
    switch (effect.kind) {
    case EffectKind::spawn:
        turn.post([this, generation = effect.generation] { start_process(generation); });
        break;
    case EffectKind::drain:
        draining_ = true;
        events_.on_drain(turn);
        turn.post([this] { continue_drain(); });
        break;
    case EffectKind::end_now:
        tell_keeper("asked_now");
        break;
    case EffectKind::fail_in_flight:
        events_.on_lost(turn, core::describe(machine_.failure));
        break;
    case EffectKind::tell_ready:
        turn.post([this] {
            log_event("ready");
            if (kept_)
                kept_->note_phase(Phase::ready);
        });
        events_.on_ready(turn);
        changed_.notify_all();
        break;
    case EffectKind::tell_failed:
        turn.post([this] { log_event("gave-up"); });
        changed_.notify_all();
        break;
    case EffectKind::tell_closed:
        changed_.notify_all();
        turn.after([engine = engine_] {
            const std::scoped_lock lock(engine->rest_mutex);
            engine->rest_changed.notify_all();
        });
        break;
    case EffectKind::arm:
    case EffectKind::cancel:
        break; // the machine remembers what is due; see next_due()
    }
}

base::Moment Generations::next_due(Turn& turn) {
    return std::min(
        {*std::ranges::min_element(machine_.due), drain_due_, keeper_due_, events_.next_due(turn)});
}

base::Moment Generations::tick(base::Moment now) {
    Turn turn(*this);
    const base::Moment stall = machine_.due[static_cast<std::size_t>(core::Timer::stall)];
    if (stall <= now && events_.waits_for_us(turn))
        apply(turn, core::Event::of_progress(machine_.generation, ++patience_words_ * 2));
    for (std::size_t i = 0; i < core::timer_count; ++i)
        if (machine_.due[i] <= now)
            apply(turn, core::Event::of_timer(static_cast<core::Timer>(i)));
    events_.tick(turn, now);
    if (drain_due_ <= now) {
        drain_due_ = base::never;
        tell_keeper("asked"); // it had its time to finish by itself
    }
    if (keeper_due_ <= now)
        look_after_keeper(now);
    return next_due(turn);
}

bool Generations::usable(const Lock&) const {
    const bool ready = machine_.phase == HelperPhase::ready || machine_.phase == HelperPhase::ready_unheld;
    return ready && spawned_ && output_open_;
}

bool Generations::reachable(const Lock& lock) const {
    return usable(lock) && !kept_->helper_ended();
}

Error Generations::gave_up_error(const Lock&) const {
    std::string text = core::describe_failure(machine_, spec_.policy);
    if (!start_error_.empty())
        text += base::cat(" (", start_error_, ")");
    return {Errc::gave_up, base::cat("\"", spec_.command.front(), "\" ", text), 0};
}

Result<void> Generations::check_hold(const Lock&, HoldTag hold) const {
    if (is_shut(machine_.phase))
        return fail(Errc::closed, "the supervisor was shut down");
    if (!holds_.contains(hold))
        return fail(Errc::closed, "this hold was released");
    return {};
}

bool Generations::takes_spec(const Lock&) const {
    return machine_.phase == HelperPhase::idle || machine_.phase == HelperPhase::failed;
}

void Generations::set_spec(Turn&, ProcessSpec spec) {
    spec_ = std::move(spec);
}

Result<HoldTag> Generations::hold() {
    Turn turn(*this);
    return hold(turn);
}

Result<HoldTag> Generations::hold(Turn& turn) {
    if (is_shut(machine_.phase))
        return fail(Errc::closed, "the supervisor was shut down");
    if (!timer_)
        timer_ = engine_->loop->timer([weak = events_.weak_from_this(), this](base::Moment now) {
            const auto alive = weak.lock();
            return alive ? tick(now) : base::never;
        });
    const HoldTag tag = ++last_hold_;
    holds_.insert(tag);
    apply(turn, core::Event::of(EventKind::hold));
    return tag;
}

void Generations::release(HoldTag hold) {
    Turn turn(*this);
    release(turn, hold);
}

void Generations::release(Turn& turn, HoldTag hold) {
    if (holds_.erase(hold) == 0)
        return;
    changed_.notify_all(); // whoever waits by this hold looks again, and finds it closed
    apply(turn, core::Event::of(EventKind::release));
}

Result<Generation> Generations::wait_ready(HoldTag hold, Generation newer_than, base::Moment due) {
    Turn turn(*this);
    for (;;) {
        if (auto checked = check_hold(turn, hold); !checked)
            return std::unexpected(checked.error());
        if (gave_up(machine_.phase))
            return std::unexpected(gave_up_error(turn));
        if (reachable(turn) && machine_.generation > newer_than)
            return machine_.generation;
        if (now_moment() >= due)
            return fail(Errc::timed_out,
                        base::cat("\"", spec_.command.front(), "\" is not ready yet: it is ",
                                  core::name_of(machine_.phase), ", generation ", machine_.generation));
        if (due == base::never)
            changed_.wait(turn.lock());
        else
            changed_.wait_for(turn.lock(), due - now_moment());
    }
}

void Generations::replace(Turn& turn, Generation seen) {
    // One that has just crashed is replaced for that, and it counts: who sees the crash first is often who
    // asks here.
    const bool ending =
        kept_ && spawned_ && machine_.generation == seen && (!output_open_ || kept_->helper_is_ending());
    if (!ending)
        apply(turn, core::Event::of(EventKind::replace, seen));
}

Result<Generation> Generations::replace(HoldTag hold, Generation seen, base::Moment due) {
    {
        Turn turn(*this);
        if (auto checked = check_hold(turn, hold); !checked)
            return std::unexpected(checked.error());
        replace(turn, seen);
    }
    return wait_ready(hold, seen, due);
}

Result<void> Generations::retry(HoldTag hold) {
    Turn turn(*this);
    if (auto checked = check_hold(turn, hold); !checked)
        return checked;
    apply(turn, core::Event::of(EventKind::retry));
    return {};
}

void Generations::shutdown() {
    Turn turn(*this);
    apply(turn, core::Event::of(EventKind::shutdown));
}

bool Generations::holds(HoldTag hold) const {
    const Lock lock(*this);
    return check_hold(lock, hold).has_value();
}

bool Generations::reaches(Generation generation) const {
    const Lock lock(*this);
    return machine_.generation == generation && reachable(lock);
}

bool Generations::is_closed() const {
    const Lock lock(*this);
    return machine_.phase == HelperPhase::closed;
}

bool Generations::is_forgettable() const {
    const Lock lock(*this);
    return takes_spec(lock) && machine_.holds == 0 && now_moment() >= machine_.not_before;
}

std::string Generations::survivors() const {
    const Lock lock(*this);
    std::string text;
    for (const sys::PidFd& process : survivors_)
        if (!process.ended())
            text += base::cat(text.empty() ? "" : ", ", "process ", process.pid(), " (",
                              sys::command_line_for_people(process.pid()), ")");
    return text;
}

std::string Generations::still_ending() const {
    const Lock lock(*this);
    if (!kept_)
        return {};
    const pid_t helper = kept_->helper_pid();
    const pid_t keeper = kept_->keeper().pid();
    std::string text = helper == 0
                           ? base::cat("what \"", spec_.command.front(), "\" has started")
                           : base::cat("process ", helper, " (", sys::command_line_for_people(helper), ")");
    if (kept_->keeper_is_stopped())
        text += base::cat(", whose keeper, process ", keeper, ", is stopped");
    return text;
}

ProcessStatus Generations::status() const {
    const Lock lock(*this);
    return status(lock);
}

ProcessStatus Generations::status(const Lock& lock) const {
    ProcessStatus out;
    out.phase = machine_.phase;
    out.reachable = reachable(lock);
    out.generation = machine_.generation;
    out.holds = machine_.holds;
    out.pid = kept_ ? kept_->helper_pid() : 0;
    out.progress = progress_words_;
    if (machine_.failure.kind != core::FailureKind::none)
        out.failure = start_error_.empty() ? core::describe(machine_.failure) : start_error_;
    if (machine_.phase == HelperPhase::failed)
        out.failure = gave_up_error(lock).message;
    out.starts = starts_;
    return out;
}

int Generations::input(const Lock&) const {
    return kept_ ? kept_->input_fd() : -1;
}

int Generations::output(const Lock&) const {
    return kept_ ? kept_->output_fd() : -1;
}

void Generations::signal(const Lock&, int number) {
    if (kept_)
        kept_->pass_on(number);
}

void Generations::told_ready(Turn& turn) {
    apply(turn, core::Event::of(EventKind::ready, machine_.generation));
}

void Generations::told_progress(Turn& turn, std::uint64_t value, std::string words) {
    progress_words_ = std::move(words);
    apply(turn, core::Event::of_progress(machine_.generation, value));
}

void Generations::answered(Turn& turn) {
    if (machine_.health_misses > 0)
        apply(turn, core::Event::of(EventKind::answered, machine_.generation));
}

void Generations::health_missed(Turn& turn) {
    apply(turn, core::Event::of(EventKind::health_missed, machine_.generation));
}

} // namespace holdfast::supervise
