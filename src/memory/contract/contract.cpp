#include "memory/contract/contract.hpp"

#include "base/text.hpp"
#include "memory/contract/contract_call.hpp"
#include "memory/contract/contract_transfer.hpp"
#include "rpc/message_ids.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <algorithm>
#include <array>

namespace holdfast::memory {

using base::cat;

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

std::string error_text(std::string_view raw_id, const json::object& error) {
    return cat(R"({"jsonrpc":"2.0","id":)", raw_id, R"(,"error":)", json::to_text(error), '}');
}

namespace {

// For what never becomes a call.
void send_error(const std::shared_ptr<Peer>& peer, std::string_view raw_id, const json::object& error) {
    const auto ticket = peer->begin(raw_id.size() > Peer::longest_id ? "null" : raw_id);
    peer->answer(ticket, error_text(raw_id, error));
}

constexpr std::size_t long_line = std::size_t{32} << 10; // a millisecond or more

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
    Named{"viewer.link", viewer_link},
    Named{"viewer.link_state", viewer_link_state},
    Named{"world.add", [](const CallPointer& call) { object_add(call, ObjectKind::world_model); }},
    Named{"world.archive", [](const CallPointer& call) { object_archive(call, ObjectKind::world_model); }},
};
static_assert(std::ranges::is_sorted(methods, {}, &Named::name));

} // namespace

Method find_method(std::string_view name) {
    const auto found = std::ranges::lower_bound(methods, name, {}, &Named::name);
    return found != methods.end() && found->name == name ? found->method : nullptr;
}

void Contract::serve_pages(std::shared_ptr<PageLinks> links) {
    const std::lock_guard lock(pages_mutex_);
    page_links_ = std::move(links);
}

std::shared_ptr<PageLinks> Contract::page_links() {
    const std::lock_guard lock(pages_mutex_);
    return page_links_;
}

void Contract::refuse_oversize(const std::shared_ptr<Peer>& peer, std::size_t limit) {
    send_error(peer, "null",
               contract_error(-32600, "protocol_error",
                              cat("the line is longer than ", limit, " bytes; it was skipped")));
}

std::string Contract::lost(std::string_view raw_id) const {
    return lost_text(raw_id);
}

std::string lost_text(std::string_view raw_id) {
    return error_text(raw_id,
                      contract_error(-32000, "transport_closed",
                                     "the process that served this request ended before it answered. Send it "
                                     "again: a turn that was stored is not stored twice",
                                     {{"retryable", true}}));
}

void Contract::handle(const std::shared_ptr<Peer>& peer, std::string_view line) {
    auto parsed = json::parse(line, {.half_pairs = json::HalfPairs::replaced});
    const auto raw_id = rpc::raw_id_of(line);
    if (!parsed && parsed.error().code == Errc::overflow &&
        raw_id != "null") // JSON, and its sender waits for an answer
        return send_error(peer, raw_id,
                          contract_error(-32600, "protocol_error", "the request is nested too deep"));
    if (!parsed)
        return send_error(
            peer, "null",
            contract_error(-32700, "protocol_error", cat("not JSON: ", parsed.error().message)));
    auto* request = parsed->if_object();
    if (request == nullptr)
        return send_error(peer, "null",
                          contract_error(-32600, "protocol_error", "a request is a JSON object"));
    const auto* id = request->if_contains("id");
    const bool id_sound = id == nullptr || id->is_string() || id->is_number();
    const auto* method = request->if_contains("method");
    if (method == nullptr && (request->contains("result") || request->contains("error"))) {
        (void)host_calls_.take(peer.get(), *request); // or to a request that nobody waits for any more
        return;
    }
    if (method == nullptr || !method->is_string() || !id_sound)
        return send_error(peer, raw_id,
                          contract_error(-32600, "protocol_error",
                                         "a request has a method, and an id that is a number or a string"));
    const auto* version = request->if_contains("jsonrpc");
    if (version == nullptr || *version != "2.0")
        return send_error(peer, raw_id, contract_error(-32600, "protocol_error", "jsonrpc must be \"2.0\""));
    if (service_.config().embeddings_host && peer->takes_requests())
        host_embeddings_.met(peer);
    const auto name = std::string_view(method->get_string());
    const bool wants_answer = id != nullptr;
    if (raw_id.size() > Peer::longest_id)
        return send_error(peer, raw_id,
                          contract_error(-32600, "protocol_error",
                                         cat("an id takes at most ", Peer::longest_id, " bytes")));
    const auto found = find_method(name);
    if (found == nullptr) {
        if (wants_answer)
            send_error(peer, raw_id, contract_error(-32601, "unknown_method", cat("unknown method ", name)));
        return;
    }
    json::object params;
    if (auto* given = request->if_contains("params"); given != nullptr && !given->is_null()) {
        if (!given->is_object()) {
            if (wants_answer)
                send_error(peer, raw_id,
                           contract_error(-32602, "invalid_argument", "params must be an object"));
            return;
        }
        params = std::move(given->get_object());
    }
    auto call = std::make_shared<Call>(*this, peer, raw_id, wants_answer, std::move(params));
    // To look for secrets in a long text takes a while, and other clients wait for this thread.
    if (line.size() < long_line || !peer->hold_lines())
        return found(call);
    service_.run_now([found, call = std::move(call), peer]() mutable {
        found(call);
        call.reset();
        peer->go_on();
    });
}

} // namespace holdfast::memory
