// Holds, registrations, and what the process tells.
#include "supervise/conversation.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::supervise {

using core::HelperPhase;

namespace {

constexpr std::size_t handlers_at_once = 16;
constexpr std::size_t handlers_waiting = 65'536;

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

Readiness readiness_of(ReadyBy ready_by) {
    return ready_by == ReadyBy::start    ? Readiness::started
           : ready_by == ReadyBy::notify ? Readiness::notified
                                         : Readiness::told;
}

ErrorOutput error_output_of(HelperErrors errors) {
    return errors == HelperErrors::inherit   ? ErrorOutput::inherit
           : errors == HelperErrors::discard ? ErrorOutput::discard
                                             : ErrorOutput::log;
}

core::SupervisionPolicy policy_of(const HelperSpec& spec) {
    core::SupervisionPolicy out;
    out.backoff = {.first = spec.respawn.first,
                   .initial = spec.respawn.initial,
                   .factor = spec.respawn.factor,
                   .max = spec.respawn.max,
                   .jitter = spec.respawn.jitter,
                   .reset_after_held = spec.respawn.reset_after_held,
                   .max_failures = spec.respawn.max_failures,
                   .window = spec.respawn.window};
    out.cool_down = spec.respawn.cool_down;
    out.linger = spec.linger;
    out.stall = spec.stall;
    out.health_misses = spec.health.misses;
    return out;
}

// Without its environment.
ProcessSpec process_of(const HelperSpec& spec) {
    ProcessSpec out;
    out.command = spec.command;
    out.directory = spec.directory;
    out.label = spec.label;
    out.errors = error_output_of(spec.errors);
    out.readiness = readiness_of(spec.ready_by);
    out.stop_plan = spec.stop_plan;
    out.containment = spec.containment;
    out.policy = policy_of(spec);
    return out;
}

// What it is started with, now and whenever it is started again. Taken on the thread of whoever holds: the
// host can keep that apart from its changes of the environment, but not from what the loop does.
std::vector<std::string> environment_of(const HelperSpec& spec) {
    std::vector<std::string> out;
    if (spec.environment)
        out = *spec.environment;
    else
        for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
            out.emplace_back(*variable);
    for (const std::string& variable : spec.extra_environment)
        set_variable(out, variable);
    return out;
}

} // namespace

Conversation::Conversation(std::string key, const HelperSpec& spec, std::shared_ptr<Engine> engine,
                           std::shared_ptr<Callbacks> callbacks)
    : key_(std::move(key))
    , spec_(spec)
    , engine_(std::move(engine))
    , callbacks_(std::move(callbacks))
    , serve_lane_(handlers_at_once, handlers_waiting)
    , process_(process_of(spec), engine_, *this) {}

Conversation::~Conversation() = default;

std::weak_ptr<Conversation> Conversation::weak() {
    return std::static_pointer_cast<Conversation>(weak_from_this().lock());
}

void Conversation::begin_of_turn(Turn& turn) {
    turn_ = &turn;
}

void Conversation::end_of_turn(Turn& turn) {
    turn_ = &turn; // also when it has waited
    flush(turn);
    tell_ended(turn);
    if (!trash_.empty())
        turn.after([trash = std::exchange(trash_, {})] {});
    turn_ = nullptr;
    leader_acts_ = false;
}

Result<HoldTag> Conversation::hold(const HelperSpec& spec) {
    Turn turn(process_);
    if (process_.takes_spec(turn)) { // it is not started yet: who starts it says how it is treated
        spec_ = spec;
        ProcessSpec process = process_of(spec);
        process.environment = environment_of(spec);
        process_.set_spec(turn, std::move(process));
    }
    return process_.hold(turn);
}

void Conversation::release(HoldTag hold) {
    Turn turn(process_);
    if (!process_.has_hold(turn, hold))
        return;
    registrations_.remove_all_of(hold);
    std::erase_if(listeners_, [&](auto& entry) {
        if (entry.second.hold != hold)
            return false;
        trash_.push_back(std::move(entry.second.notified));
        trash_.push_back(std::move(entry.second.served));
        return true;
    });
    note_lanes_.erase(hold);
    if (peer_)
        peer_->registrations_changed(now_moment());
    end_waiting_of(hold);
    process_.release(turn, hold);
}

Result<rpc::RegistrationId> Conversation::subscribe(HoldTag hold, std::string_view method,
                                                    Notified notified) {
    Turn turn(process_);
    if (auto checked = process_.check_hold(turn, hold); !checked)
        return std::unexpected(checked.error());
    const rpc::RegistrationId id = registrations_.subscribe(hold, method);
    note_lanes_.try_emplace(hold, std::size_t{1}, spec_.limits.max_notifications);
    listeners_[id] = {hold, std::make_shared<Notified>(std::move(notified)), nullptr};
    return id;
}

Result<rpc::RegistrationId> Conversation::serve(HoldTag hold, std::string_view method, Served served) {
    Turn turn(process_);
    if (auto checked = process_.check_hold(turn, hold); !checked)
        return std::unexpected(checked.error());
    const rpc::RegistrationId id = registrations_.serve(hold, method);
    listeners_[id] = {hold, nullptr, std::make_shared<Served>(std::move(served))};
    return id;
}

void Conversation::unregister(rpc::RegistrationId id) {
    Turn turn(process_);
    const auto at = listeners_.find(id);
    if (at == listeners_.end())
        return;
    trash_.push_back(std::move(at->second.notified));
    trash_.push_back(std::move(at->second.served));
    listeners_.erase(at);
    registrations_.remove(id);
    if (peer_)
        peer_->registrations_changed(now_moment());
}

void Conversation::drop_lanes() {
    const Lock lock(process_);
    for (auto& [hold, lane] : note_lanes_)
        lane.drop();
    serve_lane_.drop();
}

HelperStatus Conversation::status() const {
    return read_status(Lock(process_));
}

HelperStatus Conversation::status(HoldTag hold) const {
    const Lock lock(process_);
    if (process_.has_hold(lock, hold))
        return read_status(lock);
    HelperStatus none;
    none.state = HelperState::closed;
    return none;
}

HelperStatus Conversation::read_status(const Lock& lock) const {
    ProcessStatus process = process_.status(lock);
    HelperStatus out;
    out.state = state_of(process.phase);
    if (out.state == HelperState::ready && !process.reachable)
        out.state = HelperState::restarting; // it has ended; the keeper has not told yet
    out.generation = process.generation;
    out.holds = process.holds;
    out.pid = process.pid;
    out.in_flight = peer_ ? peer_->in_flight() : 0;
    out.waiting = waiting_.size();
    if (out.state == HelperState::starting)
        out.progress = std::move(process.progress);
    out.failure = std::move(process.failure);
    out.noise = noise_before_ + (peer_ ? peer_->counters().noise + peer_->counters().oversize : 0);
    out.dropped_notifications = notes_dropped_;
    out.starts = process.starts;
    return out;
}

void Conversation::on_ready(Turn& turn) {
    health_due_ = spec_.health.method.empty() ? base::never : base::after(now_moment(), spec_.health.every);
    send_waiting(turn);
}

void Conversation::on_changed(Turn& turn) {
    end_waiting_if_hopeless(turn);
    end_waiting_superseded(turn);
}

void Conversation::on_lost(Turn&, std::string_view why) {
    if (peer_)
        peer_->fail_all(why);
}

void Conversation::on_drain(Turn&) {
    if (peer_)
        peer_->stop_accepting();
}

bool Conversation::has_unsent(Turn&) {
    return peer_ && peer_->has_output() && !input_broken_;
}

bool Conversation::waits_for_us(Turn&) {
    return peer_ && peer_->serving() > 0;
}

base::Moment Conversation::next_due(Turn& turn) {
    base::Moment due = waiting_deadlines_.next();
    if (peer_)
        due = std::min(due, peer_->next_deadline());
    const HelperPhase phase = process_.machine(turn).phase;
    if (phase == HelperPhase::starting || phase == HelperPhase::starting_unheld || process_.usable(turn))
        due = std::min(due, health_due_);
    return due;
}

void Conversation::tick(Turn& turn, base::Moment now) {
    expire_waiting(turn, now);
    if (peer_)
        peer_->expire(now);
    if (health_due_ <= now)
        ask_health(turn, now);
}

} // namespace holdfast::supervise
