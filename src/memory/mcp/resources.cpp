// Resources: the state of the memory, the latest conversations, and any trace or episode by its id.
#include "memory/mcp/faces.hpp"

#include "base/date_text.hpp"
#include "base/hex.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "memory/contract/local_call.hpp"
#include "json/json_fields.hpp"
#include "json/json_write.hpp"

#include <charconv>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::string_view status_uri = "memory://status";
constexpr std::string_view recent_uri = "memory://recent";
constexpr std::string_view trace_prefix = "memory://trace/";
constexpr std::string_view episode_prefix = "memory://episode/";
constexpr std::int64_t read_ttl_ms = 0; // what is read changes with the next turn

using Show = std::string (*)(const json::value& result);

// A template puts an id into its address as RFC 6570 has it: everything but letters, digits and - . _ ~ as
// %XX.
std::string in_address(std::string_view id) {
    std::string out;
    for (const char c : id) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("-._~").contains(c);
        if (plain)
            out += c;
        else
            out += cat('%', base::hex_digit(byte >> 4U, base::HexLetters::capital),
                       base::hex_digit(byte, base::HexLetters::capital));
    }
    return out;
}

// And back. What is no %XX stands for itself.
std::string from_address(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        unsigned byte = 0;
        const char* digits = text.data() + at + 1;
        if (text[at] == '%' && at + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out += static_cast<char>(byte);
            at += 2;
        } else {
            out += text[at];
        }
    }
    return base::as_utf8(std::move(out));
}

std::string as_json(const json::value& result) {
    return json::to_text(result);
}

std::string trace_in_full(const json::value& result) {
    return result.is_object() ? trace_text(result.get_object(), std::string::npos) : "";
}

std::string whole_episode(const json::value& result) {
    std::string text;
    if (const auto* traces = result.is_object() ? result.get_object().if_contains("traces") : nullptr;
        traces != nullptr && traces->is_array())
        for (const auto& trace : traces->get_array())
            if (const auto* one = trace.if_object())
                text += trace_text(*one, std::string::npos) + "\n";
    return text;
}

std::string recent(const json::value& result) {
    std::string text;
    if (const auto* episodes = result.is_object() ? result.get_object().if_contains("episodes") : nullptr;
        episodes != nullptr && episodes->is_array())
        for (const auto& episode : episodes->get_array())
            if (const auto* one = episode.if_object())
                text += cat(moment_text(json::integer_field(*one, "openedAt")), "  ", episode_prefix,
                            in_address(json::text_field(*one, "id")), "  ",
                            cut_text(json::text_field(*one, "title"), 160), '\n');
    return text;
}

void not_found(mcp::Request& request, const std::string& uri) {
    // The modern era has no code of its own for it any more.
    request.refuse(request.modern ? int{rpc::invalid_params} : mcp::resource_not_found,
                   cat("there is no resource ", uri), {{"uri", uri}});
}

} // namespace

std::string moment_text(std::int64_t ms) {
    return base::date_text(ms, base::Zone::utc);
}

std::string cut_text(std::string_view text, std::size_t size) {
    if (text.size() <= size)
        return std::string(text);
    return cat(base::cut_at_character(text, size), "…");
}

std::string trace_text(const json::object& trace, std::size_t each) {
    std::string text =
        cat('[', json::text_field(trace, "id"), "] ", moment_text(json::integer_field(trace, "ts")), '\n');
    const bool note = json::text_field(trace, "kind") == "note";
    if (const auto user = json::text_field(trace, "userText"); !user.empty())
        text += cat(note ? "Note: " : "User: ", cut_text(user, each), '\n');
    if (const auto agent = json::text_field(trace, "agentText"); !agent.empty())
        text += cat("Agent: ", cut_text(agent, each), '\n');
    if (const auto* calls = trace.if_contains("toolCalls");
        calls != nullptr && calls->is_array() && !calls->get_array().empty()) {
        std::string names;
        for (const auto& call : calls->get_array())
            if (const auto* one = call.if_object(); one != nullptr && names.size() <= each)
                names += cat(' ', json::text_field(*one, "name"));
        text += cat("Tools:", cut_text(names, each), '\n');
    }
    return text;
}

json::array resource_list() {
    return {{{"uri", status_uri},
             {"name", "status"},
             {"title", "State of the memory"},
             {"mimeType", "application/json"},
             {"description", "Phase, size and counts."}},
            {{"uri", recent_uri},
             {"name", "recent"},
             {"title", "Latest conversations"},
             {"mimeType", "text/plain"},
             {"description", "The newest fifty, with the address of each."}}};
}

json::array resource_templates() {
    return {{{"uriTemplate", cat(trace_prefix, "{id}")},
             {"name", "trace"},
             {"title", "One turn in full"},
             {"mimeType", "text/plain"}},
            {{"uriTemplate", cat(episode_prefix, "{id}")},
             {"name", "episode"},
             {"title", "One conversation in full"},
             {"mimeType", "text/plain"}}};
}

void read_resource(Contract& contract, mcp::Request request) {
    if (const auto* given = request.params.if_contains("uri"); given == nullptr || !given->is_string())
        return request.refuse(rpc::invalid_params, "uri must be a string");
    auto uri = json::text_field(request.params, "uri");
    const char* method = nullptr;
    json::object params;
    Show show = as_json;
    const char* type = "text/plain";
    if (uri == status_uri) {
        method = "core.health";
        type = "application/json";
    } else if (uri == recent_uri) {
        method = "memory.episodes";
        show = recent;
    } else if (uri.starts_with(trace_prefix) && uri.size() > trace_prefix.size()) {
        method = "memory.get_trace";
        params["id"] = from_address(uri.substr(trace_prefix.size()));
        show = trace_in_full;
    } else if (uri.starts_with(episode_prefix) && uri.size() > episode_prefix.size()) {
        method = "memory.timeline";
        params["episodeId"] = from_address(uri.substr(episode_prefix.size()));
        show = whole_episode;
    }
    if (method == nullptr)
        return not_found(request, uri);
    auto agent = agent_of(request);
    call_local(
        contract, method, std::move(params), std::move(agent),
        [request = std::move(request), uri = std::move(uri), show, type](const LocalAnswer& answer) mutable {
            if (answer.code.ends_with("not_found") || (answer.ok() && answer.result.is_null()))
                return not_found(request, uri);
            if (!answer.ok())
                return request.refuse(rpc::internal_error, answer.message);
            request.answer_cacheable(
                {{"contents", {{{"uri", uri}, {"mimeType", type}, {"text", show(answer.result)}}}}},
                read_ttl_ms);
        });
}

} // namespace holdfast::memory
