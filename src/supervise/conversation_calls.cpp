// Requests both ways: sent, waiting, answered, cancelled; notifications and requests of the helper.
#include "supervise/conversation.hpp"

#include "base/text.hpp"
#include "supervise/incoming.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::supervise {

using core::HelperPhase;

namespace {

CallState* call_of(std::uint64_t token) {
    return reinterpret_cast<CallState*>(token);
}
std::uint64_t token_of(CallState* call) {
    return reinterpret_cast<std::uint64_t>(call);
}

Result<Reply> reply_of(const rpc::Answer& answer, Generation generation) {
    Reply reply;
    reply.generation = generation;
    if (answer.kind == rpc::Answer::Kind::failed)
        return std::unexpected(answer.failure);
    if (answer.kind == rpc::Answer::Kind::result) {
        reply.json = answer.json;
    } else {
        rpc::ErrorObject error = rpc::read_error(answer.json);
        reply.error = RemoteError{error.code, std::move(error.message), std::string(error.data)};
    }
    return reply;
}

} // namespace

void Conversation::submit(const std::shared_ptr<CallState>& call) {
    Turn turn(process_);
    send_or_wait(turn, call);
}

void Conversation::send_or_wait(Turn& turn, const std::shared_ptr<CallState>& call) {
    if (auto checked = process_.check_hold(turn, call->hold); !checked)
        return end_call(call, std::unexpected(checked.error()));
    const core::Supervision& machine = process_.machine(turn);
    if (machine.phase == HelperPhase::failed || machine.phase == HelperPhase::giving_up)
        return end_call(call, std::unexpected(process_.gave_up_error(turn)));
    // For a generation that is on its way a request waits as any other. One that was ready and is not is
    // lost.
    const bool coming = machine.phase == HelperPhase::spawning || machine.phase == HelperPhase::starting;
    const bool reachable = process_.reachable(turn);
    if (call->only != 0 && (call->only != machine.generation || (!coming && !reachable)))
        return end_call(call, fail(Errc::superseded, superseded_words(turn, call->only)));
    if (!reachable) {
        if (auto params = rpc::Peer::checked_params(call->params); !params)
            return end_call(call, std::unexpected(params.error()));
        if (waiting_.size() >= spec_.limits.max_waiting)
            return end_call(
                call, fail(Errc::overflow, base::cat("overflow: ", waiting_.size(), " requests wait for \"",
                                                     spec_.command.front(), "\" to become ready")));
        wait_for_start(call);
        return;
    }
    call->self = call;
    auto id = peer_->call(call->hold, call->method, call->params, call->deadline, token_of(call.get()));
    if (!id) {
        call->self.reset();
        return end_call(call, std::unexpected(id.error()));
    }
    call->place = CallState::Place::sent;
    call->number = *id;
    call->generation = machine.generation;
    if (!call->idempotent)
        unwritten_.push_back(call);
}

void Conversation::wait_for_start(const std::shared_ptr<CallState>& call) {
    call->place = CallState::Place::waiting;
    call->number = ++last_waiting_;
    waiting_deadlines_.add(call->deadline, call->number);
    waiting_.emplace(call->number, call);
}

void Conversation::end_call(const std::shared_ptr<CallState>& call, Result<Reply> result) {
    call->place = CallState::Place::over;
    ended_.emplace_back(call, std::move(result));
}

namespace {

void tell(Callbacks& callbacks, CallState& call, Result<Reply> result) {
    if (!call.answered) {
        call.finish(std::move(result));
        return;
    }
    Workers::Job job = [answered = std::make_shared<Answered>(std::move(call.answered)),
                        shared = std::make_shared<Result<Reply>>(std::move(result))] {
        (*answered)(std::move(*shared));
    };
    // Not even a first thread can be had: better told by this one than never.
    if (!(call.passed_on ? callbacks.passing : callbacks.answers).post(job))
        job();
    call.finish_elsewhere();
}

} // namespace

// At the end of the turn: what has ended in it is told after it.
void Conversation::tell_ended(Turn& turn) {
    if (ended_.empty())
        return;
    // A leader whose call ended by another thread's hand sleeps in poll, where no futex reaches it.
    if (!leader_acts_ && leader_ != nullptr &&
        std::ranges::any_of(ended_, [this](const auto& one) { return one.first.get() == leader_; }))
        wake_leader();
    // The turn keeps us, and so the threads.
    turn.after([&callbacks = *callbacks_, ended = std::exchange(ended_, {})]() mutable {
        for (auto& [call, result] : ended)
            tell(callbacks, *call, std::move(result));
    });
}

void Conversation::send_waiting(Turn& turn) {
    // What is submitted first is sent first. A bound of the peer that is reached here is the request's
    // answer.
    auto waiting = std::exchange(waiting_, {});
    waiting_deadlines_.clear();
    for (auto& [number, call] : waiting) {
        call->place = CallState::Place::nowhere;
        send_or_wait(turn, call);
    }
}

void Conversation::end_waiting_if_hopeless(Turn& turn) {
    const HelperPhase phase = process_.machine(turn).phase;
    const auto& facts = core::facts_of(phase);
    const bool gave_up = phase == HelperPhase::failed || phase == HelperPhase::giving_up;
    const bool shut =
        phase == HelperPhase::closed || phase == HelperPhase::closing || phase == HelperPhase::closing_spawn;
    const bool unwanted = facts.holders == core::Holders::none && facts.process != core::Process::running;
    if (!gave_up && !shut && !unwanted)
        return;
    waiting_deadlines_.clear();
    for (auto& [number, call] : std::exchange(waiting_, {})) {
        if (gave_up)
            end_call(call, std::unexpected(process_.gave_up_error(turn)));
        else
            end_call(call,
                     fail(Errc::closed, shut ? "the supervisor was shut down before the request was sent"
                                             : "the last hold was released before the request was sent"));
    }
}

void Conversation::end_waiting_of(HoldTag hold) {
    const Error released{Errc::closed, base::cat("this hold was released before the request was sent"), 0};
    std::erase_if(waiting_, [&](const auto& entry) {
        if (entry.second->hold != hold)
            return false;
        waiting_deadlines_.forget(entry.first);
        end_call(entry.second, std::unexpected(released));
        return true;
    });
}

std::string Conversation::superseded_words(const Lock& lock, Generation only) const {
    const Generation latest = process_.machine(lock).generation;
    if (only > latest)
        return base::cat("there is no generation ", only, " yet; the latest is ", latest);
    if (only == latest)
        return base::cat("generation ", only, " has ended, and its successor is not there yet");
    return base::cat("generation ", only, " is no longer there; generation ", latest, " is its successor");
}

// Those that were for one generation only, which was lost while they waited for it.
void Conversation::end_waiting_superseded(Turn& turn) {
    const core::Supervision& machine = process_.machine(turn);
    const bool coming = machine.phase == HelperPhase::spawning || machine.phase == HelperPhase::starting;
    std::erase_if(waiting_, [&](const auto& entry) {
        const Generation only = entry.second->only;
        if (only == 0 || (only == machine.generation && (coming || process_.usable(turn))))
            return false;
        waiting_deadlines_.forget(entry.first);
        end_call(entry.second, fail(Errc::superseded, superseded_words(turn, only)));
        return true;
    });
}

void Conversation::expire_waiting(Turn& turn, base::Moment now) {
    const core::Supervision& machine = process_.machine(turn);
    while (const std::uint64_t number = waiting_deadlines_.take_due(now)) {
        const auto at = waiting_.find(number);
        if (at == waiting_.end())
            continue;
        const auto call = std::move(at->second);
        waiting_.erase(at);
        end_call(call, fail(Errc::timed_out,
                            base::cat("\"", spec_.command.front(),
                                      "\" did not become ready within the deadline: it is ",
                                      core::name_of(machine.phase), ", generation ", machine.generation)));
    }
}

void Conversation::cancel(const std::shared_ptr<CallState>& call) {
    Turn turn(process_);
    if (call->place == CallState::Place::sent && peer_ && call->generation == peer_->generation()) {
        peer_->cancel(call->number);
    } else if (call->place == CallState::Place::waiting) {
        waiting_.erase(call->number);
        waiting_deadlines_.forget(call->number);
        end_call(call, fail(Errc::cancelled, "cancelled by the caller"));
    }
}

Result<void> Conversation::notify(HoldTag hold, std::string_view method, std::string_view params) {
    Turn turn(process_);
    if (auto checked = process_.check_hold(turn, hold); !checked)
        return checked;
    if (!process_.reachable(turn))
        return fail(Errc::closed, base::cat("\"", spec_.command.front(), "\" is not ready: it is ",
                                            core::name_of(process_.machine(turn).phase)));
    return peer_->notify(hold, method, params);
}

void Conversation::on_answer(rpc::CallId, std::uint64_t token, const rpc::Answer& answer) {
    if (answer.kind != rpc::Answer::Kind::failed)
        process_.drain_moved(*turn_); // it is still working through what it was asked
    if (token == 0)
        return hear_health(*turn_, answer);
    const std::shared_ptr<CallState> call = std::move(call_of(token)->self);
    const bool lost = answer.kind == rpc::Answer::Kind::failed && answer.failure.code == Errc::closed;
    const bool again = call->idempotent || answer.never_sent;
    if (lost && again && process_.has_hold(*turn_, call->hold) && call->only == 0)
        wait_for_start(call);
    else
        end_call(call, reply_of(answer, call->generation));
}

void Conversation::on_notification(rpc::RegistrationId listener, HoldTag hold, std::string_view method,
                                   std::string_view params) {
    const auto at = listeners_.find(listener);
    if (at == listeners_.end())
        return;
    const auto lane = note_lanes_.find(hold);
    const bool posted =
        lane != note_lanes_.end() &&
        lane->second.post(callbacks_->notes, [notified = std::weak_ptr<Notified>(at->second.notified),
                                              method = std::string(method), params = std::string(params)] {
            if (const auto alive = notified.lock())
                (*alive)(method, params);
        });
    if (!posted)
        ++notes_dropped_;
}

void Conversation::on_request(rpc::RegistrationId server, HoldTag hold, rpc::RequestId request,
                              std::string_view method, std::string_view params) {
    const auto at = listeners_.find(server);
    if (at == listeners_.end())
        return;
    auto state = std::make_shared<std::unique_ptr<IncomingState>>(std::make_unique<IncomingState>(
        weak(), peer_->generation(), hold, request, std::string(method), std::string(params)));
    const bool posted =
        serve_lane_.post(callbacks_->handlers, [served = std::weak_ptr<Served>(at->second.served), state] {
            IncomingRequest incoming(std::move(*state));
            if (const auto alive = served.lock())
                (*alive)(std::move(incoming));
        });
    if (!posted) {
        static_cast<void>(peer_->reply_error(hold, request, rpc::server_error,
                                             "overflow: too many requests wait to be served"));
    }
}

void Conversation::on_request_gone(HoldTag, rpc::RequestId) {
    // Who serves it finds out when it replies (not_found); there is nothing to take back from a thread that
    // runs.
}

void Conversation::on_noise(std::string_view, std::string_view) {} // the peer counts it

Result<void> Conversation::reply(Generation generation, HoldTag hold, rpc::RequestId request,
                                 std::string_view result) {
    Turn turn(process_);
    if (!peer_ || peer_->generation() != generation)
        return fail(Errc::not_found, "the generation that asked is gone");
    return peer_->reply(hold, request, result);
}

Result<void> Conversation::reply_error(Generation generation, HoldTag hold, rpc::RequestId request, int code,
                                       std::string_view message, std::string_view data) {
    Turn turn(process_);
    if (!peer_ || peer_->generation() != generation)
        return fail(Errc::not_found, "the generation that asked is gone");
    return peer_->reply_error(hold, request, code, message, data);
}

} // namespace holdfast::supervise
