// The machine and its effects; holds and registrations.
#include "supervise/helper.hpp"

#include "base/text.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::supervise {

using core::EventKind;
using core::HelperPhase;

namespace {

HelperState state_of(HelperPhase phase) {
    switch (phase) {
    case HelperPhase::idle:
        return HelperState::idle;
    case HelperPhase::spawning:
    case HelperPhase::starting:
    case HelperPhase::starting_unheld:
        return HelperState::starting;
    case HelperPhase::ready:
    case HelperPhase::ready_unheld:
        return HelperState::ready;
    case HelperPhase::cleaning:
    case HelperPhase::backoff:
    case HelperPhase::stopping_wanted:
        return HelperState::restarting;
    case HelperPhase::abandoned:
    case HelperPhase::stopping:
    case HelperPhase::closing_spawn:
    case HelperPhase::closing:
        return HelperState::stopping;
    case HelperPhase::giving_up:
    case HelperPhase::failed:
        return HelperState::failed;
    case HelperPhase::closed:
        return HelperState::closed;
    }
    return HelperState::idle;
}

bool is_shut(HelperPhase phase) {
    return phase == HelperPhase::closing || phase == HelperPhase::closing_spawn ||
           phase == HelperPhase::closed;
}

} // namespace

Helper::Turn::Turn(Helper& helper)
    : helper_(helper)
    , alive_(helper.weak_from_this().lock())
    , lock_(helper.mutex_) {
    helper_.turn_ = this;
}

Helper::Turn::~Turn() {
    helper_.flush();
    helper_.turn_ = nullptr;
    const base::Moment due = helper_.next_due();
    Engine& engine = *helper_.engine_;
    // A leader whose call ended by another thread's hand sleeps in poll, where no futex reaches it.
    const bool wake =
        !by_leader_ && helper_.leader_ != nullptr &&
        std::ranges::any_of(ended_, [this](const auto& one) { return one.first.get() == helper_.leader_; });
    if (wake)
        helper_.wake_leader();
    lock_.unlock();
    for (auto& task : posted_)
        engine.loop->post([weak = std::weak_ptr<Helper>(alive_), task = std::move(task)] {
            if (const auto helper = weak.lock())
                task(*helper);
        });
    if (due != base::never)
        engine.loop->wake_by(due);
    for (auto& [call, result] : ended_) {
        if (!call->answered) {
            call->finish(std::move(result));
            continue;
        }
        Workers::Job tell = [answered = std::make_shared<Answered>(std::move(call->answered)),
                             shared = std::make_shared<Result<Reply>>(std::move(result))] {
            (*answered)(std::move(*shared));
        };
        // Not even a first thread can be had: better told by this one than never.
        if (!(call->passed_on ? engine.passing : engine.answers).post(tell))
            tell();
        call->finish_elsewhere();
    }
}

namespace {
constexpr std::size_t handlers_at_once = 16;
constexpr std::size_t handlers_waiting = 65'536;

// What it is started with, now and whenever it is started again. Taken on the thread of whoever holds: the
// host can keep that apart from its changes of the environment, but not from what the loop does.
HelperSpec with_environment(HelperSpec spec) {
    if (spec.environment)
        return spec;
    auto& all = spec.environment.emplace();
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
        all.emplace_back(*variable);
    return spec;
}

std::string label_of(const HelperSpec& spec) {
    const std::string& command = spec.command.front();
    return spec.label.empty() ? command.substr(command.rfind('/') + 1) : spec.label;
}
} // namespace

Helper::Helper(std::string key, HelperSpec spec, std::shared_ptr<Engine> engine)
    : key_(std::move(key))
    , label_(label_of(spec))
    , engine_(std::move(engine))
    , dice_state_(std::hash<std::string>{}(sys::random_token()) | 1U)
    , serve_lane_(handlers_at_once, handlers_waiting) {
    set_policy(spec);
}

Helper::~Helper() = default;

void Helper::set_policy(const HelperSpec& spec) {
    spec_ = spec;
    policy_.backoff = {.first = spec.respawn.first,
                       .initial = spec.respawn.initial,
                       .factor = spec.respawn.factor,
                       .max = spec.respawn.max,
                       .jitter = spec.respawn.jitter,
                       .reset_after_held = spec.respawn.reset_after_held,
                       .max_failures = spec.respawn.max_failures,
                       .window = spec.respawn.window};
    policy_.cool_down = spec.respawn.cool_down;
    policy_.linger = spec.linger;
    policy_.stall = spec.stall;
    policy_.health_misses = spec.health.misses;
}

void Helper::apply(const core::Event& event) {
    // xorshift: the spread of a wait needs no better dice.
    dice_state_ ^= dice_state_ << 13;
    dice_state_ ^= dice_state_ >> 7;
    dice_state_ ^= dice_state_ << 17;
    const double dice = static_cast<double>(dice_state_ >> 11) / static_cast<double>(std::uint64_t{1} << 53);
    const HelperPhase before = machine_.phase;
    core::Step result = core::step(machine_, event, now_moment(), dice, policy_);
    machine_ = result.state;
    for (const core::Effect& effect : result.effects)
        carry_out(effect);
    if (machine_.phase != before) {
        end_waiting_if_hopeless();
        end_waiting_superseded();
        changed_.notify_all();
    }
}

void Helper::carry_out(const core::Effect& effect) {
    using core::EffectKind;
    switch (effect.kind) {
    case EffectKind::spawn:
        turn_->posted_.emplace_back(
            [generation = effect.generation](Helper& self) { self.start_process(generation); });
        break;
    case EffectKind::drain:
        draining_ = true;
        if (peer_)
            peer_->stop_accepting();
        turn_->posted_.emplace_back([](Helper& self) { self.continue_drain(); });
        break;
    case EffectKind::end_now:
        tell_keeper("asked_now");
        break;
    case EffectKind::fail_in_flight:
        if (peer_)
            peer_->fail_all(core::describe(machine_.failure));
        break;
    case EffectKind::tell_ready: {
        const base::Moment now = now_moment();
        health_due_ = spec_.health.method.empty() ? base::never : base::after(now, spec_.health.every);
        turn_->posted_.emplace_back([](Helper& self) {
            self.log_event("ready");
            if (self.kept_)
                self.kept_->note_phase(Phase::ready);
        });
        send_waiting();
        changed_.notify_all();
        break;
    }
    case EffectKind::tell_failed:
        turn_->posted_.emplace_back([](Helper& self) { self.log_event("gave-up"); });
        changed_.notify_all();
        break;
    case EffectKind::tell_closed:
        changed_.notify_all();
        break;
    case EffectKind::arm:
    case EffectKind::cancel:
        break; // the machine remembers what is due; see next_due()
    }
}

bool Helper::usable() const {
    const bool ready = machine_.phase == HelperPhase::ready || machine_.phase == HelperPhase::ready_unheld;
    return ready && peer_ && output_open_;
}

bool Helper::reachable() const {
    return usable() && !kept_->helper_ended();
}

Error Helper::gave_up_error() const {
    std::string text = core::describe_failure(machine_, policy_);
    if (!start_error_.empty())
        text += base::cat(" (", start_error_, ")");
    return {Errc::gave_up, base::cat("\"", spec_.command.front(), "\" ", text), 0};
}

Result<void> Helper::check_hold(rpc::HoldTag hold) const {
    if (is_shut(machine_.phase))
        return fail(Errc::closed, "the supervisor was shut down");
    if (!holds_.contains(hold))
        return fail(Errc::closed, "this hold was released");
    return {};
}

base::Moment Helper::next_due() {
    base::Moment due = std::min(
        {*std::ranges::min_element(machine_.due), drain_due_, keeper_due_, waiting_deadlines_.next()});
    if (peer_)
        due = std::min(due, peer_->next_deadline());
    const bool runs =
        machine_.phase == HelperPhase::starting || machine_.phase == HelperPhase::starting_unheld || usable();
    if (runs)
        due = std::min(due, health_due_);
    return due;
}

Result<rpc::HoldTag> Helper::hold(const HelperSpec& spec) {
    Turn turn(*this);
    if (is_shut(machine_.phase))
        return fail(Errc::closed, "the supervisor was shut down");
    if (machine_.phase == HelperPhase::idle || machine_.phase == HelperPhase::failed)
        set_policy(with_environment(spec)); // it is not started yet: who starts it says how it is treated
    const rpc::HoldTag tag = ++last_hold_;
    holds_.insert(tag);
    apply(core::Event::of(EventKind::hold));
    return tag;
}

void Helper::release(rpc::HoldTag hold) {
    Turn turn(*this);
    if (holds_.erase(hold) == 0)
        return;
    registrations_.remove_all_of(hold);
    std::erase_if(listeners_, [&](auto& entry) {
        if (entry.second.hold != hold)
            return false;
        turn.trash_.push_back(std::move(entry.second.notified));
        turn.trash_.push_back(std::move(entry.second.served));
        return true;
    });
    note_lanes_.erase(hold);
    if (peer_)
        peer_->registrations_changed(now_moment());
    // Whoever still waits for something by this hold waits for nothing: they look again, and find it closed.
    end_waiting_of(hold);
    changed_.notify_all();
    apply(core::Event::of(EventKind::release));
}

Result<rpc::RegistrationId> Helper::subscribe(rpc::HoldTag hold, std::string_view method, Notified notified) {
    Turn turn(*this);
    if (auto checked = check_hold(hold); !checked)
        return std::unexpected(checked.error());
    const rpc::RegistrationId id = registrations_.subscribe(hold, method);
    note_lanes_.try_emplace(hold, std::size_t{1}, spec_.limits.max_notifications);
    listeners_[id] = {hold, std::make_shared<Notified>(std::move(notified)), nullptr};
    return id;
}

Result<rpc::RegistrationId> Helper::serve(rpc::HoldTag hold, std::string_view method, Served served) {
    Turn turn(*this);
    if (auto checked = check_hold(hold); !checked)
        return std::unexpected(checked.error());
    const rpc::RegistrationId id = registrations_.serve(hold, method);
    listeners_[id] = {hold, nullptr, std::make_shared<Served>(std::move(served))};
    return id;
}

void Helper::unregister(rpc::RegistrationId id) {
    Turn turn(*this);
    const auto at = listeners_.find(id);
    if (at == listeners_.end())
        return;
    turn.trash_.push_back(std::move(at->second.notified));
    turn.trash_.push_back(std::move(at->second.served));
    listeners_.erase(at);
    registrations_.remove(id);
    if (peer_)
        peer_->registrations_changed(now_moment());
}

Result<Generation> Helper::wait_ready(rpc::HoldTag hold, Generation newer_than, base::Moment due) {
    Turn turn(*this);
    for (;;) {
        if (auto checked = check_hold(hold); !checked)
            return std::unexpected(checked.error());
        if (machine_.phase == HelperPhase::failed || machine_.phase == HelperPhase::giving_up)
            return std::unexpected(gave_up_error());
        if (reachable() && machine_.generation > newer_than)
            return machine_.generation;
        if (now_moment() >= due)
            return fail(Errc::timed_out,
                        base::cat("\"", spec_.command.front(), "\" is not ready yet: it is ",
                                  core::name_of(machine_.phase), ", generation ", machine_.generation));
        turn_ = nullptr; // while it waits, the turn is others'
        if (due == base::never)
            changed_.wait(turn.lock());
        else
            changed_.wait_for(turn.lock(), due - now_moment());
        turn_ = &turn;
    }
}

Result<Generation> Helper::replace(rpc::HoldTag hold, Generation seen, base::Moment due) {
    {
        Turn turn(*this);
        if (auto checked = check_hold(hold); !checked)
            return std::unexpected(checked.error());
        // One that has just crashed is replaced for that, and it counts: who sees the crash first is often
        // who asks here.
        const bool ending = !kept_ || !helper_spawned_ || machine_.generation != seen
                                ? false
                                : !output_open_ || kept_->helper_is_ending();
        if (!ending)
            apply(core::Event::of(EventKind::replace, seen));
    }
    return wait_ready(hold, seen, due);
}

Result<void> Helper::retry(rpc::HoldTag hold) {
    Turn turn(*this);
    if (auto checked = check_hold(hold); !checked)
        return checked;
    apply(core::Event::of(EventKind::retry));
    return {};
}

bool Helper::holds(rpc::HoldTag hold) const {
    const std::scoped_lock lock(mutex_);
    return check_hold(hold).has_value();
}

bool Helper::reaches(Generation generation) const {
    const std::scoped_lock lock(mutex_);
    return machine_.generation == generation && reachable();
}

void Helper::drop_lanes() {
    const std::scoped_lock lock(mutex_);
    for (auto& [hold, lane] : note_lanes_)
        lane.drop();
    serve_lane_.drop();
}

void Helper::shutdown() {
    Turn turn(*this);
    apply(core::Event::of(EventKind::shutdown));
}

bool Helper::is_closed() const {
    const std::scoped_lock lock(mutex_);
    return machine_.phase == HelperPhase::closed;
}

bool Helper::is_forgettable() const {
    const std::scoped_lock lock(mutex_);
    return (machine_.phase == HelperPhase::idle || machine_.phase == HelperPhase::failed) &&
           machine_.holds == 0 && now_moment() >= machine_.not_before;
}

std::string Helper::survivors() const {
    const std::scoped_lock lock(mutex_);
    std::string text;
    for (const sys::PidFd& process : survivors_)
        if (!process.ended())
            text += base::cat(text.empty() ? "" : ", ", "process ", process.pid(), " (",
                              sys::command_line_for_people(process.pid()), ")");
    return text;
}

std::string Helper::still_ending() const {
    const std::scoped_lock lock(mutex_);
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

HelperStatus Helper::status(rpc::HoldTag hold) const {
    {
        const std::scoped_lock lock(mutex_);
        if (!holds_.contains(hold)) {
            HelperStatus none;
            none.state = HelperState::closed;
            return none;
        }
    }
    return status();
}

HelperStatus Helper::status() const {
    const std::scoped_lock lock(mutex_);
    HelperStatus out;
    out.state = state_of(machine_.phase);
    if (out.state == HelperState::ready && !reachable())
        out.state = HelperState::restarting; // it has ended; the keeper has not told yet
    out.generation = machine_.generation;
    out.holds = machine_.holds;
    out.pid = kept_ ? kept_->helper_pid() : 0;
    out.in_flight = peer_ ? peer_->in_flight() : 0;
    out.waiting = waiting_.size();
    if (out.state == HelperState::starting)
        out.progress = progress_words_;
    if (machine_.failure.kind != core::FailureKind::none)
        out.failure = start_error_.empty() ? core::describe(machine_.failure) : start_error_;
    if (machine_.phase == HelperPhase::failed)
        out.failure = gave_up_error().message;
    out.noise = noise_before_ + (peer_ ? peer_->counters().noise + peer_->counters().oversize : 0);
    out.dropped_notifications = notes_dropped_;
    out.starts = starts_;
    return out;
}

base::Moment Helper::tick(base::Moment now) {
    Turn turn(*this);
    be_patient_with_who_waits_for_us(now);
    for (std::size_t i = 0; i < core::timer_count; ++i)
        if (machine_.due[i] <= now)
            apply(core::Event::of_timer(static_cast<core::Timer>(i)));
    expire_waiting(now);
    if (peer_)
        peer_->expire(now);
    if (health_due_ <= now)
        ask_health(now);
    if (drain_due_ <= now) {
        drain_due_ = base::never;
        tell_keeper("asked"); // it had its time to finish by itself
    }
    if (keeper_due_ <= now)
        look_after_keeper(now);
    return next_due();
}

} // namespace holdfast::supervise
