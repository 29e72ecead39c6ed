// Requests both ways: sent, waiting, answered, cancelled; notifications and requests of the helper.
#include "base/text.hpp"
#include "supervise/helper.hpp"
#include "supervise/incoming.hpp"
#include "sys/pipes.hpp"

#include <sys/epoll.h>

#include <utility>

namespace holdfast::supervise {

using core::EventKind;
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

void Helper::submit(const std::shared_ptr<CallState>& call) {
    Turn turn(*this);
    send_or_wait(call);
}

void Helper::send_or_wait(const std::shared_ptr<CallState>& call) {
    if (auto checked = check_hold(call->hold); !checked)
        return end_call(call, std::unexpected(checked.error()));
    if (machine_.phase == HelperPhase::failed || machine_.phase == HelperPhase::giving_up)
        return end_call(call, std::unexpected(gave_up_error()));
    // For a generation that is on its way a request waits as any other. One that was ready and is not is
    // lost.
    const bool coming = machine_.phase == HelperPhase::spawning || machine_.phase == HelperPhase::starting;
    if (call->only != 0 && (call->only != machine_.generation || (!coming && !reachable())))
        return end_call(call, fail(Errc::superseded, superseded_words(call->only)));
    if (!reachable()) {
        if (auto params = rpc::Peer::checked_params(call->params); !params)
            return end_call(call, std::unexpected(params.error()));
        if (waiting_.size() >= spec_.limits.max_waiting)
            return end_call(
                call, fail(Errc::overflow, base::cat("overflow: ", waiting_.size(), " requests wait for \"",
                                                     spec_.command.front(), "\" to become ready")));
        call->place = CallState::Place::waiting;
        call->number = ++last_waiting_;
        waiting_deadlines_.add(call->deadline, call->number);
        waiting_.emplace(call->number, call);
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
    call->generation = machine_.generation;
    if (!call->idempotent)
        unwritten_.push_back(call);
}

void Helper::end_call(const std::shared_ptr<CallState>& call, Result<Reply> result) {
    call->place = CallState::Place::over;
    turn_->ended_.emplace_back(call, std::move(result));
}

void Helper::send_waiting() {
    // What is submitted first is sent first. A bound of the peer that is reached here is the request's
    // answer.
    auto waiting = std::exchange(waiting_, {});
    waiting_deadlines_.clear();
    for (auto& [number, call] : waiting) {
        call->place = CallState::Place::nowhere;
        send_or_wait(call);
    }
}

void Helper::end_waiting_if_hopeless() {
    const auto& facts = core::facts_of(machine_.phase);
    const bool gave_up = machine_.phase == HelperPhase::failed || machine_.phase == HelperPhase::giving_up;
    const bool shut = machine_.phase == HelperPhase::closed || machine_.phase == HelperPhase::closing ||
                      machine_.phase == HelperPhase::closing_spawn;
    const bool unwanted = facts.holders == core::Holders::none && facts.process != core::Process::running;
    if (!gave_up && !shut && !unwanted)
        return;
    waiting_deadlines_.clear();
    for (auto& [number, call] : std::exchange(waiting_, {})) {
        if (gave_up)
            end_call(call, std::unexpected(gave_up_error()));
        else
            end_call(call,
                     fail(Errc::closed, shut ? "the supervisor was shut down before the request was sent"
                                             : "the last hold was released before the request was sent"));
    }
}

void Helper::end_waiting_of(rpc::HoldTag hold) {
    const Error released{Errc::closed, base::cat("this hold was released before the request was sent"), 0};
    std::erase_if(waiting_, [&](const auto& entry) {
        if (entry.second->hold != hold)
            return false;
        waiting_deadlines_.forget(entry.first);
        end_call(entry.second, std::unexpected(released));
        return true;
    });
}

std::string Helper::superseded_words(Generation only) const {
    if (only > machine_.generation)
        return base::cat("there is no generation ", only, " yet; the latest is ", machine_.generation);
    if (only == machine_.generation)
        return base::cat("generation ", only, " has ended, and its successor is not there yet");
    return base::cat("generation ", only, " is no longer there; generation ", machine_.generation,
                     " is its successor");
}

// Those that were for one generation only, which was lost while they waited for it.
void Helper::end_waiting_superseded() {
    const bool coming = machine_.phase == HelperPhase::spawning || machine_.phase == HelperPhase::starting;
    std::erase_if(waiting_, [&](const auto& entry) {
        const Generation only = entry.second->only;
        if (only == 0 || (only == machine_.generation && (coming || usable())))
            return false;
        waiting_deadlines_.forget(entry.first);
        end_call(entry.second, fail(Errc::superseded, superseded_words(only)));
        return true;
    });
}

void Helper::expire_waiting(base::Moment now) {
    while (const std::uint64_t number = waiting_deadlines_.take_due(now)) {
        const auto at = waiting_.find(number);
        if (at == waiting_.end())
            continue;
        const auto call = std::move(at->second);
        waiting_.erase(at);
        end_call(call, fail(Errc::timed_out,
                            base::cat("\"", spec_.command.front(),
                                      "\" did not become ready within the deadline: it is ",
                                      core::name_of(machine_.phase), ", generation ", machine_.generation)));
    }
}

void Helper::cancel(const std::shared_ptr<CallState>& call) {
    Turn turn(*this);
    if (call->place == CallState::Place::sent && peer_ && call->generation == peer_->generation()) {
        peer_->cancel(call->number);
    } else if (call->place == CallState::Place::waiting) {
        waiting_.erase(call->number);
        waiting_deadlines_.forget(call->number);
        end_call(call, fail(Errc::cancelled, "cancelled by the caller"));
    }
}

// Writes what can be written now. Called at the end of each turn, by whichever thread has it: so a request
// goes out on the thread that makes it.
void Helper::flush() {
    if (!peer_ || !kept_ || kept_->input_fd() < 0 || !peer_->has_output() || watching_writable_ ||
        input_broken_)
        return;
    for (;;) {
        const std::string_view bytes = peer_->output();
        if (bytes.empty())
            break;
        const sys::Written written = sys::write_quietly(kept_->input_fd(), bytes);
        if (written.state == sys::WriteState::broken) {
            input_broken_ = true; // heard of by the loop as well, which acts on it
            break;
        }
        if (written.state == sys::WriteState::would_block) {
            watching_writable_ = true;
            engine_->loop->change(kept_->input_fd(), EPOLLOUT);
            break;
        }
        peer_->consume(written.bytes);
        if (draining_)
            drain_due_ = base::after(now_moment(), Millis{2000}); // it reads: patience moves with progress
    }
    if (!peer_->has_output())
        forget_written();
    if (draining_ && !peer_->has_output())
        turn_->posted_.emplace_back([](Helper& self) { self.continue_drain(); });
}

// What is written is not sent again (unless it may be), so its params need not be kept. Those of a generation
// that was lost before they were written wait for the next one, and need theirs.
void Helper::forget_written() {
    for (const auto& call : unwritten_)
        if (call->place != CallState::Place::waiting)
            std::string().swap(call->params);
    unwritten_.clear();
}

Result<void> Helper::notify(rpc::HoldTag hold, std::string_view method, std::string_view params) {
    Turn turn(*this);
    if (auto checked = check_hold(hold); !checked)
        return checked;
    if (!reachable())
        return fail(Errc::closed, base::cat("\"", spec_.command.front(), "\" is not ready: it is ",
                                            core::name_of(machine_.phase)));
    return peer_->notify(hold, method, params);
}

void Helper::on_answer(rpc::CallId, std::uint64_t token, const rpc::Answer& answer) {
    if (answer.kind != rpc::Answer::Kind::failed && draining_ && drain_due_ != base::never)
        drain_due_ = base::after(now_moment(), Millis{2000}); // it is still working through what it was asked
    if (token == 0)
        return hear_health(answer);
    const std::shared_ptr<CallState> call = std::move(call_of(token)->self);
    const bool lost = answer.kind == rpc::Answer::Kind::failed && answer.failure.code == Errc::closed;
    const bool again = call->idempotent || answer.never_sent;
    if (lost && again && holds_.contains(call->hold) && call->only == 0) {
        call->place = CallState::Place::waiting;
        call->number = ++last_waiting_;
        waiting_deadlines_.add(call->deadline, call->number);
        waiting_.emplace(call->number, call);
        return;
    }
    end_call(call, reply_of(answer, call->generation));
}

void Helper::on_notification(rpc::RegistrationId listener, rpc::HoldTag hold, std::string_view method,
                             std::string_view params) {
    const auto at = listeners_.find(listener);
    if (at == listeners_.end())
        return;
    const auto lane = note_lanes_.find(hold);
    const bool posted =
        lane != note_lanes_.end() &&
        lane->second.post(engine_->notes, [notified = std::weak_ptr<Notified>(at->second.notified),
                                           method = std::string(method), params = std::string(params)] {
            if (const auto alive = notified.lock())
                (*alive)(method, params);
        });
    if (!posted)
        ++notes_dropped_;
}

void Helper::on_request(rpc::RegistrationId server, rpc::HoldTag hold, rpc::RequestId request,
                        std::string_view method, std::string_view params) {
    const auto at = listeners_.find(server);
    if (at == listeners_.end())
        return;
    auto state = std::make_shared<std::unique_ptr<IncomingState>>(std::make_unique<IncomingState>(
        weak_from_this(), machine_.generation, hold, request, std::string(method), std::string(params)));
    const bool posted =
        serve_lane_.post(engine_->handlers, [served = std::weak_ptr<Served>(at->second.served), state] {
            IncomingRequest incoming(std::move(*state));
            if (const auto alive = served.lock())
                (*alive)(std::move(incoming));
        });
    if (!posted) {
        static_cast<void>(peer_->reply_error(hold, request, rpc::server_error,
                                             "overflow: too many requests wait to be served"));
    }
}

void Helper::on_request_gone(rpc::HoldTag, rpc::RequestId) {
    // Who serves it finds out when it replies (not_found); there is nothing to take back from a thread that
    // runs.
}

void Helper::on_noise(std::string_view, std::string_view) {} // the peer counts it

Result<void> Helper::reply(Generation generation, rpc::HoldTag hold, rpc::RequestId request,
                           std::string_view result) {
    Turn turn(*this);
    if (!peer_ || peer_->generation() != generation)
        return fail(Errc::not_found, "the generation that asked is gone");
    return peer_->reply(hold, request, result);
}

Result<void> Helper::reply_error(Generation generation, rpc::HoldTag hold, rpc::RequestId request, int code,
                                 std::string_view message, std::string_view data) {
    Turn turn(*this);
    if (!peer_ || peer_->generation() != generation)
        return fail(Errc::not_found, "the generation that asked is gone");
    return peer_->reply_error(hold, request, code, message, data);
}

} // namespace holdfast::supervise
