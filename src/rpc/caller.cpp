#include "rpc/caller.hpp"

#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <utility>

namespace holdfast::rpc {

namespace {

PeerOptions options_of(std::size_t max_message) {
    PeerOptions options;
    options.limits.max_message = max_message;
    options.any_bytes = true;
    return options;
}

// Deeper than the messages of a server may be: what it was told comes back wrapped.
Result<json::value> parse_body(std::string_view text) {
    auto value = json::parse(text, {.depth = 250, .strings = json::Strings::any_bytes});
    if (!value)
        return fail(Errc::protocol, "the answer cannot be read: " + value.error().message);
    return value;
}

} // namespace

json::object Caller::Answer::error() const {
    const auto* object = failed ? body.if_object() : nullptr;
    return object != nullptr ? *object : json::object();
}

Caller::Caller(std::size_t max_message)
    : peer_(options_of(max_message), 0, registrations_, *this) {}

Result<CallId> Caller::ask(std::string_view method, const json::object& params) {
    auto call = peer_.call(0, method, json::to_text(params), base::never, 0);
    if (call)
        calls_[*call];
    return call;
}

std::optional<Result<Caller::Answer>> Caller::take(CallId call) {
    const auto at = calls_.find(call);
    if (at == calls_.end() || !at->second)
        return std::nullopt;
    auto answer = std::move(*at->second);
    calls_.erase(at);
    return answer;
}

void Caller::drop(CallId call) {
    calls_.erase(call);
    peer_.cancel(call);
}

void Caller::on_answer(CallId call, std::uint64_t /*token*/, const rpc::Answer& answer) {
    const auto at = calls_.find(call);
    if (at == calls_.end() || at->second)
        return;
    if (answer.kind == rpc::Answer::Kind::failed) {
        at->second = std::unexpected(answer.failure);
        return;
    }
    auto body = parse_body(answer.json);
    if (body)
        at->second = Answer{answer.kind == rpc::Answer::Kind::error, std::move(*body)};
    else
        at->second = std::unexpected(std::move(body.error()));
}

void Caller::on_unaddressed_error(std::string_view error) {
    for (auto& [call, answer] : calls_) {
        if (answer)
            continue;
        auto body = parse_body(error);
        answer =
            body ? Result<Answer>(Answer{true, std::move(*body)}) : std::unexpected(std::move(body.error()));
        peer_.cancel(call); // told as cancelled, which is not the answer
        return;
    }
}

} // namespace holdfast::rpc
