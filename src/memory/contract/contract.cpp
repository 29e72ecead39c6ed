#include "memory/contract/contract.hpp"

#include "core/json_sorted.hpp"
#include "core/json_surrogates.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"
#include "memory/contract/contract_call.hpp"
#include "memory/store/ids.hpp"
#include "memory/transfer/methods.hpp"

#include <algorithm>
#include <array>

namespace holdfast::memory {

using core::cat;
namespace json = boost::json;

json::object contract_error(int code, std::string_view name, std::string_view message, json::object details) {
    json::object data{{"name", "MemoryError"}, {"code", name}, {"message", message}};
    if (!details.empty())
        data["details"] = std::move(details);
    return {{"code", code}, {"message", message}, {"data", std::move(data)}};
}

json::object contract_error(const Error& error) {
    switch (error.code) {
    case Errc::invalid_argument:
        return contract_error(-32602, "invalid_argument", error.message);
    case Errc::not_found:
        return contract_error(-32000, "not_found", error.message);
    case Errc::unsupported:
        return contract_error(-32000, "unsupported", error.message);
    case Errc::closed:
        return contract_error(-32000, "not_initialized", error.message);
    case Errc::superseded:
        return contract_error(-32000, "transport_closed", error.message, {{"retryable", true}});
    case Errc::no_space:
        return contract_error(-32000, "internal", error.message,
                              {{"reason", "disk_full"}, {"retryable", true}});
    default:
        return contract_error(-32000, "internal", error.message, {{"reason", name_of(error.code)}});
    }
}

namespace {

std::string error_text(const json::value& id, json::object error) {
    return core::json_text(json::object{{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}});
}

// For what never becomes a call.
void send_error(const std::shared_ptr<Peer>& peer, const json::value& id, json::object error) {
    const auto ticket = peer->begin(json::serialize(id));
    peer->answer(ticket, error_text(id, std::move(error)));
}

constexpr std::size_t long_line = std::size_t{256} << 10;
constexpr std::int64_t at_once = 1; // a moment that has passed: the task does not wait for the store

struct Named {
    std::string_view name;
    Method method;
};

// Sorted by name; looked up by binary search.
constexpr std::array methods = {
    Named{"core.check", core_check},
    Named{"core.health", core_health},
    Named{"core.init", core_init},
    Named{"core.shutdown", core_shutdown},
    Named{"episode.close", episode_close},
    Named{"episode.open", episode_open},
    Named{"events.subscribe", events_subscribe},
    Named{"events.unsubscribe", events_unsubscribe},
    Named{"feedback.submit", feedback_submit},
    Named{"logs.tail", logs_tail},
    Named{"memory.add", memory_add},
    Named{"memory.episodes", memory_episodes},
    Named{"memory.feedback", memory_feedback},
    Named{"memory.forget", memory_forget},
    Named{"memory.get_policy", memory_get_policy},
    Named{"memory.get_trace", memory_get_trace},
    Named{"memory.get_world", memory_get_world},
    Named{"memory.list_episodes", memory_list_episodes},
    Named{"memory.list_policies", memory_list_policies},
    Named{"memory.list_traces", memory_list_traces},
    Named{"memory.list_world_models", memory_list_world_models},
    Named{"memory.search", memory_search},
    Named{"memory.sessions", memory_sessions},
    Named{"memory.timeline", memory_turns},
    Named{"policy.add", [](const CallPointer& call) { object_add(call, ObjectKind::policy); }},
    Named{"policy.archive", [](const CallPointer& call) { object_archive(call, ObjectKind::policy); }},
    Named{"retrieval.query", memory_search},
    Named{"session.close", session_close},
    Named{"session.open", session_open},
    Named{"skill.add", [](const CallPointer& call) { object_add(call, ObjectKind::skill); }},
    Named{"skill.archive", [](const CallPointer& call) { object_archive(call, ObjectKind::skill); }},
    Named{"skill.get", skill_get},
    Named{"skill.list", skill_list},
    Named{"subagent.record", subagent_record},
    Named{"transfer.export", transfer_export},
    Named{"transfer.import", transfer_import},
    Named{"turn.end", turn_end},
    Named{"turn.start", turn_start},
    Named{"world.add", [](const CallPointer& call) { object_add(call, ObjectKind::world_model); }},
    Named{"world.archive", [](const CallPointer& call) { object_archive(call, ObjectKind::world_model); }},
};
static_assert(std::ranges::is_sorted(methods, {}, &Named::name));

} // namespace

Method find_method(std::string_view name) {
    const auto found = std::ranges::lower_bound(methods, name, {}, &Named::name);
    return found != methods.end() && found->name == name ? found->method : nullptr;
}

void Contract::refuse_oversize(const std::shared_ptr<Peer>& peer, std::size_t limit) {
    send_error(peer, nullptr,
               contract_error(-32600, "protocol_error",
                              cat("the line is longer than ", limit, " bytes; it was skipped")));
}

std::string Contract::lost(std::string_view raw_id) const {
    return lost_text(raw_id);
}

std::string lost_text(std::string_view raw_id) {
    boost::system::error_code failed;
    auto id = json::parse(raw_id, failed);
    return error_text(failed ? json::value(nullptr) : id,
                      contract_error(-32000, "transport_closed",
                                     "the process that served this request ended before it answered. Send it "
                                     "again: a turn that was stored is not stored twice",
                                     {{"retryable", true}}));
}

void Contract::handle(const std::shared_ptr<Peer>& peer, std::string_view line) {
    boost::system::error_code failed;
    json::value parsed = core::parse_mended(line, failed);
    if (failed)
        return send_error(peer, nullptr,
                          contract_error(-32700, "protocol_error", cat("not JSON: ", failed.message())));
    auto* request = parsed.if_object();
    if (request == nullptr)
        return send_error(peer, nullptr,
                          contract_error(-32600, "protocol_error", "a request is a JSON object"));
    const auto* id = request->if_contains("id");
    const bool id_sound = id == nullptr || id->is_string() || id->is_int64() || id->is_uint64();
    const auto* method = request->if_contains("method");
    if (method == nullptr && (request->contains("result") || request->contains("error"))) {
        (void)host_model_.take(peer.get(), *request); // or to a request that nobody waits for any more
        return;
    }
    if (method == nullptr || !method->is_string() || !id_sound)
        return send_error(peer, id != nullptr && id_sound ? *id : json::value(nullptr),
                          contract_error(-32600, "protocol_error",
                                         "a request has a method, and an id that is an integer or a string"));
    const auto* version = request->if_contains("jsonrpc");
    if (version == nullptr || *version != "2.0")
        return send_error(peer, id != nullptr ? *id : json::value(nullptr),
                          contract_error(-32600, "protocol_error", "jsonrpc must be \"2.0\""));
    const auto name = std::string_view(method->get_string());
    const bool wants_answer = id != nullptr;
    json::value answer_id = wants_answer ? *id : json::value(nullptr);
    const auto found = find_method(name);
    if (found == nullptr) {
        if (wants_answer)
            send_error(peer, answer_id,
                       contract_error(-32601, "unknown_method", cat("unknown method ", name)));
        return;
    }
    json::object params;
    if (auto* given = request->if_contains("params"); given != nullptr && !given->is_null()) {
        if (!given->is_object()) {
            if (wants_answer)
                send_error(peer, answer_id,
                           contract_error(-32602, "invalid_argument", "params must be an object"));
            return;
        }
        params = std::move(given->get_object());
    }
    auto call = std::make_shared<Call>(*this, peer, std::move(answer_id), wants_answer, std::move(params));
    // To look for secrets in megabytes takes a while, and other clients wait for this thread. What wants no
    // answer stays here: only an answer tells those who wait for the end that it is done.
    if (line.size() < long_line || !wants_answer || !peer->hold_lines())
        return found(call);
    service_.run(
        [found, call = std::move(call), peer](bool) mutable {
            found(call);
            call.reset();
            peer->go_on();
        },
        at_once);
}

Contract::Call::Call(Contract& contract, std::shared_ptr<Peer> peer, json::value id, bool wants_answer,
                     json::object params)
    : contract_(contract)
    , peer_(std::move(peer))
    , id_(std::move(id))
    , wants_answer_(wants_answer)
    , params_(std::move(params)) {
    if (wants_answer_)
        ticket_ = peer_->begin(json::serialize(id_));
}

Contract::Call::~Call() {
    refuse(contract_error(-32000, "internal", "the request was given up", {{"retryable", true}}));
}

void Contract::Call::answer(json::value result) {
    if (std::exchange(answered_, true) || !wants_answer_)
        return;
    peer_->answer(ticket_, core::json_text(
                               json::object{{"jsonrpc", "2.0"}, {"id", id_}, {"result", std::move(result)}}));
}

void Contract::Call::refuse(json::object error) {
    if (std::exchange(answered_, true) || !wants_answer_)
        return;
    peer_->answer(ticket_, error_text(id_, std::move(error)));
}

void Contract::Call::refuse_argument(std::string_view message) {
    refuse(contract_error(-32602, "invalid_argument", message));
}

void Contract::Call::refuse_missing(std::string_view code, std::string_view message) {
    refuse(contract_error(-32000, code, message));
}

const json::value* Contract::Call::find(std::string_view name) const {
    const auto* value = params_.if_contains(name);
    return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string Contract::Call::text(std::string_view name, bool required) {
    const auto* value = find(name);
    if (value != nullptr && value->is_string())
        return std::string(value->get_string());
    if (value != nullptr)
        refuse_argument(cat(name, " must be a string"));
    else if (required)
        refuse_argument(cat(name, " is required"));
    return "";
}

std::string Contract::Call::word(std::string_view name, bool required) {
    auto value = text(name, required);
    if (!bad() && required && value.empty())
        refuse_argument(cat(name, " must not be empty"));
    return value;
}

std::optional<std::int64_t> Contract::Call::integer(std::string_view name, bool required, std::int64_t least,
                                                    std::int64_t most) {
    const auto* value = find(name);
    if (value == nullptr) {
        if (required)
            refuse_argument(cat(name, " is required"));
        return std::nullopt;
    }
    std::int64_t whole = 0;
    if (value->is_int64())
        whole = value->get_int64();
    else if (value->is_double() && value->get_double() >= -9e15 && value->get_double() <= 9e15)
        whole = static_cast<std::int64_t>(value->get_double()); // clients write milliseconds as 1.7e12, too
    else {
        refuse_argument(cat(name, " must be a number"));
        return std::nullopt;
    }
    if (whole < least || whole > most) {
        refuse_argument(cat(name, " must be from ", least, " to ", most));
        return std::nullopt;
    }
    return whole;
}

std::optional<double> Contract::Call::number(std::string_view name, double least, double most) {
    const auto* value = find(name);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_number()) {
        refuse_argument(cat(name, " must be a number"));
        return std::nullopt;
    }
    const auto real = value->to_number<double>();
    if (!(real >= least && real <= most)) {
        refuse_argument(cat(name, " is out of range"));
        return std::nullopt;
    }
    return real;
}

bool Contract::Call::flag(std::string_view name) {
    const auto* value = find(name);
    if (value != nullptr && !value->is_bool())
        refuse_argument(cat(name, " must be true or false"));
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::string Contract::Call::json(std::string_view name) {
    const auto* value = find(name);
    return value != nullptr ? json::serialize(*value) : "";
}

std::string Contract::Call::name_space() {
    const auto* value = find("namespace");
    return value != nullptr ? core::sorted_json_text(*value) : "";
}

std::string Contract::Call::clean_json(std::string_view name) {
    auto* value = params_.if_contains(name);
    // Moved out: a large one is not copied, and nobody reads it a second time.
    return value != nullptr && !value->is_null() ? cleaner().json(std::move(*value)) : "";
}

std::string Contract::Call::clean_list(std::string_view name, bool required) {
    const auto* value = find(name);
    if (value != nullptr && value->is_array())
        return clean_json(name);
    if (value != nullptr)
        refuse_argument(cat(name, " must be a list"));
    else if (required)
        refuse_argument(cat(name, " is required"));
    return "";
}

std::string Contract::Call::one_of(std::string_view name, std::initializer_list<std::string_view> words) {
    auto value = word(name, true);
    if (!bad() && std::ranges::find(words, value) == words.end()) {
        std::string all;
        for (const auto allowed : words)
            all += cat(all.empty() ? "" : ", ", allowed);
        refuse_argument(cat(name, " must be one of ", all));
    }
    return value;
}

std::string Contract::subscribe(const std::shared_ptr<Peer>& peer, bool logs,
                                std::vector<std::string> types) {
    auto id = make_id("sub_");
    const std::lock_guard lock(subscriptions_mutex_);
    subscriptions_.push_back({id, peer, peer.get(), logs, std::move(types)});
    subscribers_ = subscriptions_.size();
    remember_subscriptions(*peer);
    return id;
}

void Contract::remember_subscriptions(Peer& peer) {
    json::array all;
    for (const auto& subscription : subscriptions_)
        if (subscription.raw == &peer)
            all.push_back({{"id", subscription.id},
                           {"logs", subscription.logs},
                           {"types", json::array(subscription.types.begin(), subscription.types.end())}});
    (void)peer.remember(all.empty() ? "" : json::serialize(all));
}

void Contract::resume(const std::shared_ptr<Peer>& peer, std::string_view state) {
    boost::system::error_code failed;
    const auto parsed = json::parse(state, failed);
    if (failed || !parsed.is_array())
        return;
    const std::lock_guard lock(subscriptions_mutex_);
    for (const auto& each : parsed.get_array()) {
        std::vector<std::string> types;
        for (const auto& type : each.at("types").as_array())
            types.emplace_back(type.as_string());
        subscriptions_.push_back({std::string(each.at("id").as_string()), peer, peer.get(),
                                  each.at("logs").as_bool(), std::move(types)});
    }
    subscribers_ = subscriptions_.size();
}

bool Contract::unsubscribe(std::string_view id) {
    const std::lock_guard lock(subscriptions_mutex_);
    const auto found = std::ranges::find(subscriptions_, id, &Subscription::id);
    if (found == subscriptions_.end())
        return false;
    const auto peer = found->peer.lock();
    subscriptions_.erase(found);
    subscribers_ = subscriptions_.size();
    if (peer)
        remember_subscriptions(*peer);
    return true;
}

void Contract::forget(const Peer* peer) {
    host_model_.forget(peer);
    const std::lock_guard lock(subscriptions_mutex_);
    std::erase_if(subscriptions_, [&](const Subscription& s) { return s.raw == peer; });
    subscribers_ = subscriptions_.size();
}

void Contract::log(std::string_view level, std::string_view channel, std::string_view message) {
    if (subscribers_ == 0)
        return;
    const std::lock_guard lock(subscriptions_mutex_);
    const json::object line{{"ts", now_ms()}, {"level", level}, {"channel", channel}, {"msg", message}};
    const auto text =
        core::json_text(json::object{{"jsonrpc", "2.0"}, {"method", "logs.forward"}, {"params", line}});
    for (const auto& subscription : subscriptions_)
        if (subscription.logs)
            if (const auto peer = subscription.peer.lock())
                peer->send(text);
}

void Contract::notify(std::string_view type, json::object payload) {
    if (subscribers_ == 0)
        return;
    const std::lock_guard lock(subscriptions_mutex_);
    const json::object event{
        {"type", type}, {"ts", now_ms()}, {"seq", ++sequence_}, {"payload", std::move(payload)}};
    const auto message =
        core::json_text(json::object{{"jsonrpc", "2.0"}, {"method", "events.notify"}, {"params", event}});
    for (const auto& subscription : subscriptions_)
        if (!subscription.logs && (subscription.types.empty() ||
                                   std::ranges::find(subscription.types, type) != subscription.types.end()))
            if (const auto peer = subscription.peer.lock())
                peer->send(message);
}

} // namespace holdfast::memory
