// The calling side: calls, notifications, cancellation, deadlines, and what is written when.
#include "rpc/peer.hpp"

#include "base/utf8.hpp"
#include "json/json_scan.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::rpc {

namespace {
// So much is put together for one write. What is here can no longer be taken back or overtaken, so it stays
// small.
constexpr std::size_t write_window = std::size_t{64} << 10;
constexpr std::size_t kept_capacity = std::size_t{256} << 10;
} // namespace

Peer::Peer(PeerOptions options, std::uint64_t generation, Registrations& registrations, PeerEvents& events)
    : options_(options)
    , generation_(generation)
    , registrations_(registrations)
    , events_(events)
    , reader_(options.framing, options.limits.max_message) {}

Result<std::string_view> Peer::checked_params(std::string_view params) {
    const std::size_t first = params.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos)
        return std::string_view{};
    if (json::extent_of_value(params, first).too_deep)
        return fail(Errc::invalid_argument, base::cat("params may be nested ", json::max_depth,
                                                      " levels deep, and these are deeper"));
    if ((params[first] != '{' && params[first] != '[') || !json::is_json(params) || !base::is_utf8(params))
        return fail(Errc::invalid_argument, "params must be JSON text of an object or a list");
    return params;
}

Result<void> Peer::admit_call(HoldTag hold) const {
    const auto at = calls_of_.find(hold);
    const std::size_t own = at == calls_of_.end() ? 0 : at->second;
    const std::size_t most = options_.limits.max_in_flight;
    const std::size_t free = most - std::min(most, calls_.size());
    if (own < free)
        return {};
    return fail(Errc::overflow, base::cat("overflow: this hold has ", own, " requests in flight, and ", free,
                                          " are left for all; wait for answers before sending more"));
}

Result<void> Peer::admit_bytes(HoldTag hold, std::size_t frame_bytes) const {
    const std::size_t most = options_.limits.max_unsent_bytes;
    const std::size_t free = most - std::min(most, lanes_.bytes());
    if (lanes_.bytes_of(hold) + frame_bytes <= free)
        return {};
    return fail(Errc::overflow,
                base::cat("overflow: ", lanes_.bytes(), " bytes wait for the helper to read them, and ",
                          frame_bytes, " more do not fit"));
}

std::string Peer::framed(std::string_view message) const {
    std::string frame;
    frame.reserve(message.size() + 40);
    append_frame(frame, options_.framing, message);
    return frame;
}

// Straight to the writer when nothing is in front; into the hold's lane otherwise.
std::optional<Lanes::Handle> Peer::send(HoldTag hold, CallId call, std::string frame) {
    if (lanes_.empty() && answers_.empty() && out_.size() - out_written_ < write_window) {
        out_ += frame;
        return std::nullopt;
    }
    return lanes_.push(hold, call, std::move(frame));
}

Result<CallId> Peer::call(HoldTag hold, std::string_view method, std::string_view params,
                          base::Moment deadline, std::uint64_t token) {
    if (!accepting_ || closed_)
        return fail(Errc::closed, base::cat("transport closed, generation ", generation_));
    auto checked = checked_params(params);
    if (!checked)
        return std::unexpected(std::move(checked.error()));
    if (auto admitted = admit_call(hold); !admitted)
        return std::unexpected(std::move(admitted.error()));
    const CallId id = last_call_ + 1;
    std::string frame = framed(write_request(id, method, *checked));
    if (auto admitted = admit_bytes(hold, frame.size()); !admitted)
        return std::unexpected(std::move(admitted.error()));
    last_call_ = id;
    Call& call = calls_[id];
    call.token = token;
    call.hold = hold;
    call.unsent = send(hold, id, std::move(frame));
    call.end = written_ + (out_.size() - out_written_);
    ++calls_of_[hold];
    call_deadlines_.add(deadline, id);
    return id;
}

Result<void> Peer::notify(HoldTag hold, std::string_view method, std::string_view params) {
    if (!accepting_ || closed_)
        return fail(Errc::closed, base::cat("transport closed, generation ", generation_));
    auto checked = checked_params(params);
    if (!checked)
        return std::unexpected(std::move(checked.error()));
    std::string frame = framed(write_notification(method, *checked));
    if (auto admitted = admit_bytes(hold, frame.size()); !admitted)
        return admitted;
    send(hold, 0, std::move(frame));
    return {};
}

void Peer::end_call(CallId id, const Answer& answer) {
    const auto at = calls_.find(id);
    if (at == calls_.end())
        return;
    const Call call = at->second;
    calls_.erase(at);
    call_deadlines_.forget(id);
    if (const auto count = calls_of_.find(call.hold); count != calls_of_.end() && --count->second == 0)
        calls_of_.erase(count);
    if (call.unsent)
        lanes_.remove(call.hold, *call.unsent);
    events_.on_answer(id, call.token, answer);
}

void Peer::fail_call(CallId id, Errc code, std::string message) {
    Answer answer;
    answer.kind = Answer::Kind::failed;
    answer.failure = Error{code, std::move(message)};
    if (const auto at = calls_.find(id); at != calls_.end())
        answer.never_sent = !is_sent(at->second);
    end_call(id, answer);
}

// Only what the helper has seen, or is about to, is worth a word to it.
void Peer::tell_cancelled(CallId id) {
    const auto at = calls_.find(id);
    if (at == calls_.end() || at->second.unsent || closed_)
        return;
    if (options_.cancel == CancelStyle::lsp)
        send_answer(write_notification("$/cancelRequest", base::cat(R"({"id":)", id, '}')));
    else if (options_.cancel == CancelStyle::mcp)
        send_answer(write_notification("notifications/cancelled", base::cat(R"({"requestId":)", id, '}')));
}

bool Peer::cancel(CallId id) {
    if (!calls_.contains(id))
        return false;
    tell_cancelled(id);
    fail_call(id, Errc::cancelled, "cancelled by the caller");
    return true;
}

void Peer::expire(base::Moment now) {
    while (const CallId id = call_deadlines_.take_due(now)) {
        const auto at = calls_.find(id);
        const bool unsent = at != calls_.end() && !is_sent(at->second);
        tell_cancelled(id);
        fail_call(
            id, Errc::timed_out,
            unsent ? base::cat("no answer within the deadline: the request could not be sent to generation ",
                               generation_, ", which does not read")
                   : base::cat("no answer within the deadline from generation ", generation_));
    }
    while (const RequestId id = request_deadlines_.take_due(now)) {
        const auto at = requests_.find(id);
        if (at == requests_.end())
            continue;
        const HoldTag hold = at->second.server.hold;
        refuse(at->second.raw_id, server_error,
               base::cat("no answer in time from who serves ", at->second.method));
        end_request(id);
        events_.on_request_gone(hold, id);
    }
}

base::Moment Peer::next_deadline() {
    return std::min(call_deadlines_.next(), request_deadlines_.next());
}

void Peer::fail_all(std::string_view why) {
    accepting_ = false;
    closed_ = true;
    out_.clear();
    out_written_ = 0;
    answers_.clear();
    // Oldest first, as they were sent.
    std::vector<CallId> ids;
    ids.reserve(calls_.size());
    for (const auto& [id, call] : calls_)
        ids.push_back(id);
    std::ranges::sort(ids);
    for (const CallId id : ids)
        fail_call(id, Errc::closed,
                  base::cat("transport closed, generation ", generation_, why.empty() ? "" : ": ", why));
    lanes_.clear();
    call_deadlines_.clear();
    request_deadlines_.clear();
    for (const auto& [id, request] : std::exchange(requests_, {}))
        events_.on_request_gone(request.server.hold, id);
}

std::string_view Peer::output() {
    if (closed_)
        return {};
    if (out_written_ == out_.size()) {
        out_.clear();
        out_written_ = 0;
        if (out_.capacity() > kept_capacity)
            out_.shrink_to_fit();
    }
    if (out_.size() - out_written_ < write_window && (!answers_.empty() || !lanes_.empty())) {
        out_.erase(0, std::exchange(out_written_, 0));
        out_ += answers_;
        answers_.clear();
        while (out_.size() < write_window) {
            auto item = lanes_.pop();
            if (!item)
                break;
            out_ += item->frame;
            if (const auto at = calls_.find(item->call); at != calls_.end()) {
                at->second.unsent.reset();
                at->second.end = written_ + out_.size();
            }
        }
    }
    return std::string_view(out_).substr(out_written_);
}

void Peer::consume(std::size_t written) {
    written = std::min(written, out_.size() - out_written_);
    out_written_ += written;
    written_ += written;
}

bool Peer::has_output() const noexcept {
    return !closed_ && (out_written_ < out_.size() || !answers_.empty() || !lanes_.empty());
}

std::size_t Peer::unsent_bytes() const noexcept {
    return out_.size() - out_written_ + answers_.size() + lanes_.bytes();
}

} // namespace holdfast::rpc
