// The receiving side: what the helper writes, and the requests it makes.
#include "base/utf8.hpp"
#include "rpc/peer.hpp"
#include "json/json_scan.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::rpc {

namespace {
constexpr std::size_t excerpt_bytes = 256;

std::string not_json(std::string_view what, std::string_view text) {
    return json::extent_of_value(text, 0).too_deep
               ? base::cat(what, " may be nested ", json::max_depth, " levels deep, and this is deeper")
               : base::cat(what, " must be JSON text");
}
} // namespace

void Peer::receive(std::string_view bytes, base::Moment now) {
    reader_.feed(bytes);
    while (const auto frame = reader_.next())
        on_frame(*frame, now);
}

void Peer::finish(base::Moment now) {
    if (const auto frame = reader_.finish())
        on_frame(*frame, now);
}

void Peer::on_frame(const Frame& frame, base::Moment now) {
    switch (frame.kind) {
    case Frame::Kind::message:
        on_message(frame.text, now);
        break;
    case Frame::Kind::oversize:
        on_oversize(frame.text);
        break;
    case Frame::Kind::noise:
        note_noise("text between messages", frame.text);
        break;
    }
}

void Peer::note_noise(std::string_view why, std::string_view text) {
    ++counters_.noise;
    events_.on_noise(why, text.substr(0, excerpt_bytes));
}

void Peer::on_oversize(std::string_view head) {
    ++counters_.oversize;
    // When its beginning tells whose answer it was, that call need not wait for its deadline.
    if (const auto id = number_of(answer_id_of_head(head)); id && calls_.contains(*id))
        fail_call(
            *id, Errc::overflow,
            base::cat("the answer is larger than ", options_.limits.max_message, " bytes and was skipped"));
    events_.on_noise("a message over the size limit was skipped", head);
}

void Peer::on_message(std::string_view text, base::Moment now) {
    const Message message = classify(text, options_.any_bytes ? Bytes::any : Bytes::utf8);
    counters_.messages += message.kind != MessageKind::noise;
    if (message.too_deep && message.kind != MessageKind::noise)
        return on_too_deep(message, text);
    switch (message.kind) {
    case MessageKind::noise:
        note_noise(message.why, text);
        break;
    case MessageKind::request:
        on_request_message(message, now);
        break;
    case MessageKind::notification:
        on_notification_message(message);
        break;
    case MessageKind::result:
    case MessageKind::error:
    case MessageKind::empty_answer:
        on_answer_message(message);
        break;
    }
}

// Whoever waits is told at once; what nobody waits for is noise.
void Peer::on_too_deep(const Message& message, std::string_view text) {
    const std::string words = base::cat("nested deeper than ", json::max_depth, " levels");
    switch (message.kind) {
    case MessageKind::request:
        refuse(message.id, invalid_request, base::cat("the request is ", words));
        return;
    case MessageKind::notification:
    case MessageKind::noise:
        note_noise(base::cat("a notification is ", words), text);
        return;
    case MessageKind::result:
    case MessageKind::error:
    case MessageKind::empty_answer:
        break;
    }
    const auto id = number_of(message.id);
    if (id && calls_.contains(*id))
        fail_call(*id, Errc::protocol,
                  base::cat("the answer of the helper is ", words, " and was not taken"));
    else
        ++counters_.late_answers;
}

void Peer::on_answer_message(const Message& message) {
    const auto id = number_of(message.id);
    if (!id || !calls_.contains(*id)) {
        ++counters_.late_answers;
        if (message.kind == MessageKind::error && message.id == "null")
            events_.on_unaddressed_error(message.error);
        return;
    }
    if (message.kind == MessageKind::empty_answer) {
        fail_call(*id, Errc::protocol, "the helper answered with neither a result nor an error");
        return;
    }
    Answer answer;
    answer.kind = message.kind == MessageKind::result ? Answer::Kind::result : Answer::Kind::error;
    answer.json = message.kind == MessageKind::result ? message.result : message.error;
    end_call(*id, answer);
}

void Peer::on_notification_message(const Message& message) {
    std::string storage;
    const std::string_view method = message.method_name(storage);
    const bool cancelled = on_cancellation(method, message);
    const auto listeners = registrations_.subscribers(method);
    if (listeners.empty() && !cancelled)
        ++counters_.unheard;
    for (const auto& listener : listeners)
        if (registrations_.contains(listener.id)) // an earlier listener may have taken this one out
            events_.on_notification(listener.id, listener.hold, method, message.params);
}

bool Peer::on_cancellation(std::string_view method, const Message& message) {
    const auto cancellation = read_cancellation(method, message.params);
    if (cancellation.style == CancelStyle::silent)
        return false;
    const auto raw_id = cancellation.id;
    const auto at =
        std::ranges::find_if(requests_, [&](const auto& entry) { return entry.second.raw_id == raw_id; });
    if (at == requests_.end())
        return false;
    const RequestId id = at->first;
    const HoldTag hold = at->second.server.hold;
    if (cancellation.style == CancelStyle::lsp) // there a cancelled request is answered all the same
        send_answer(write_error(raw_id, request_cancelled, "cancelled by who asked"));
    end_request(id);
    events_.on_request_gone(hold, id);
    return true;
}

void Peer::on_request_message(const Message& message, base::Moment now) {
    std::string storage;
    const std::string_view method = message.method_name(storage);
    const auto server = registrations_.server_of(method);
    if (!server) {
        refuse(message.id, method_not_found, base::cat("nobody here serves ", method));
        return;
    }
    if (requests_.size() >= options_.limits.max_requests) {
        refuse(message.id, server_error,
               base::cat("overflow: ", requests_.size(), " requests are being served; ask again later"));
        return;
    }
    const RequestId id = ++last_request_;
    requests_.emplace(
        id, Request{std::string(message.id), std::string(method), std::string(message.params), *server});
    if (options_.serve_within.count() > 0)
        request_deadlines_.add(base::after(now, options_.serve_within), id);
    events_.on_request(server->id, server->hold, id, method, message.params);
}

void Peer::registrations_changed(base::Moment now) {
    std::vector<RequestId> orphans;
    for (const auto& [id, request] : requests_)
        if (!registrations_.contains(request.server.id))
            orphans.push_back(id);
    std::ranges::sort(orphans);
    for (const RequestId old_id : orphans) {
        const auto at = requests_.find(old_id);
        if (at == requests_.end())
            continue;
        Request request = std::move(at->second);
        end_request(old_id);
        const auto server = registrations_.server_of(request.method);
        if (!server) {
            refuse(request.raw_id, method_not_found,
                   base::cat("who served ", request.method, " is gone, and nobody else serves it"));
            continue;
        }
        // A new number, so that a late answer of the one who is gone cannot be taken for the survivor's.
        const RequestId id = ++last_request_;
        request.server = *server;
        const Request& kept = requests_.emplace(id, std::move(request)).first->second;
        if (options_.serve_within.count() > 0)
            request_deadlines_.add(base::after(now, options_.serve_within), id);
        // Copies: who is told may answer at once, which ends the request.
        const std::string method = kept.method;
        const std::string params = kept.params;
        events_.on_request(server->id, server->hold, id, method, params);
    }
}

std::unordered_map<RequestId, Peer::Request>::iterator Peer::owned_request(HoldTag hold, RequestId request) {
    const auto at = requests_.find(request);
    return at != requests_.end() && at->second.server.hold == hold ? at : requests_.end();
}

void Peer::end_request(RequestId request) {
    requests_.erase(request);
    request_deadlines_.forget(request);
}

// Answers do not wait in lanes, so they have a bound of their own.
bool Peer::send_answer(std::string_view message) {
    if (closed_)
        return false;
    if (answers_.size() >= options_.limits.max_unsent_answers) {
        ++counters_.dropped_answers;
        return false;
    }
    append_frame(answers_, options_.framing, message);
    return true;
}

void Peer::refuse(std::string_view raw_id, int code, std::string_view message) {
    ++counters_.refused;
    send_answer(write_error(raw_id, code, message));
}

Result<void> Peer::reply(HoldTag hold, RequestId request, std::string_view result) {
    const auto at = owned_request(hold, request);
    if (at == requests_.end())
        return fail(Errc::not_found, "this request is over, or somebody else answers it now");
    if (!json::is_json(result) || !base::is_utf8(result))
        return fail(Errc::invalid_argument, not_json("a result", result));
    const bool sent = send_answer(write_result(at->second.raw_id, result));
    end_request(request);
    if (!sent)
        return fail(Errc::overflow, "the helper does not read its answers; this one was dropped");
    return {};
}

Result<void> Peer::reply_error(HoldTag hold, RequestId request, int code, std::string_view message,
                               std::string_view data) {
    const auto at = owned_request(hold, request);
    if (at == requests_.end())
        return fail(Errc::not_found, "this request is over, or somebody else answers it now");
    if (!data.empty() && (!json::is_json(data) || !base::is_utf8(data)))
        return fail(Errc::invalid_argument, not_json("error data", data));
    const bool sent = send_answer(write_error(at->second.raw_id, code, message, data));
    end_request(request);
    if (!sent)
        return fail(Errc::overflow, "the helper does not read its answers; this one was dropped");
    return {};
}

} // namespace holdfast::rpc
