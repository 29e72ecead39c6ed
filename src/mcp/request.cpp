#include "mcp/request.hpp"

#include "json/json_write.hpp"

namespace holdfast::mcp {

json::object server_info(const Identity& identity) {
    return {{"name", identity.name}, {"title", identity.title}, {"version", identity.version}};
}

void Request::answer(json::object result) {
    if (modern) {
        result["resultType"] = "complete";
        auto& meta = result["_meta"];
        if (!meta.is_object())
            meta = json::object();
        meta.get_object()[server_key] = server_info(server);
    }
    responder.result(std::move(result));
}

void Request::answer_text(std::string result) {
    responder.result_text(std::move(result));
}

void Request::answer_cacheable(json::object result, std::int64_t ttl_ms) {
    if (modern) {
        result["ttlMs"] = ttl_ms;
        result["cacheScope"] = "private";
    }
    answer(std::move(result));
}

void Request::refuse(int code, std::string_view message, json::object data) {
    responder.error_text(rpc::write_error_object(code, message, data.empty() ? "" : json::to_text(data)));
}

json::object Request::text_result(std::string_view text) {
    return {{"content", {{{"type", "text"}, {"text", text}}}}};
}

void Request::trouble(std::string_view text) {
    auto result = text_result(text);
    result["isError"] = true;
    answer(std::move(result));
}

} // namespace holdfast::mcp
