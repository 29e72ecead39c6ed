#include "memory/transfer/values_json.hpp"

#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <charconv>

namespace holdfast::memory {

namespace {

// Stored JSON was JSON when it came in; redaction keeps it so. Should it ever not parse, it is shown as text.
json::value stored_json(const std::string& text, json::value if_empty) {
    if (text.empty())
        return if_empty;
    return json::parse(text).value_or(json::value(text));
}

// A reflection is text, or an object with a text and a score, which is stored as its JSON.
json::value reflection_of(const std::string& text) {
    if (text.starts_with('{'))
        if (auto value = stored_json(text, nullptr); value.is_object())
            return value;
    return text.empty() ? json::value(nullptr) : json::value(text);
}

// A number wherever it is one: a turn of ours has its time for its id.
json::value turn_id_of(const Trace& trace) {
    if (trace.turn_id.empty())
        return trace.ts;
    std::int64_t number = 0;
    const auto* end = trace.turn_id.data() + trace.turn_id.size();
    const auto read = std::from_chars(trace.turn_id.data(), end, number);
    if (read.ec == std::errc{} && read.ptr == end && std::to_string(number) == trace.turn_id)
        return number;
    return json::value(trace.turn_id);
}

json::value text_or_null(const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(text);
}

} // namespace

std::string stored_text(const json::value& value) {
    return json::to_text(value, {.fractions = json::Fractions::stored});
}

json::object to_json(const Trace& trace) {
    json::object shown{{"id", trace.id},
                       {"episodeId", trace.episode_id},
                       {"sessionId", trace.session_id},
                       {"ts", trace.ts},
                       {"kind", trace.kind},
                       {"userText", trace.user_text},
                       {"agentText", trace.agent_text},
                       {"summary", text_or_null(trace.summary)},
                       {"tags", stored_json(trace.tags, json::array())},
                       {"toolCalls", stored_json(trace.tool_calls, json::array())},
                       {"agentThinking", text_or_null(trace.thinking)},
                       {"reflection", reflection_of(trace.reflection)},
                       {"value", trace.value},
                       {"priority", trace.priority},
                       {"turnId", turn_id_of(trace)}};
    if (!trace.meta.empty())
        shown["meta"] = stored_json(trace.meta, nullptr);
    return shown;
}

json::object to_json(const StoredObject& object) {
    json::object shown;
    if (auto more = stored_json(object.data, nullptr); more.is_object())
        shown = std::move(more.get_object());
    shown["id"] = object.id;
    shown["title"] = object.title;
    shown["body"] = object.body;
    if (object.kind == ObjectKind::skill) {
        shown["name"] = object.title;
        shown["invocationGuide"] = object.body;
        shown["trialsAttempted"] = object.trials;
    }
    if (object.kind == ObjectKind::policy)
        shown.emplace("procedure", object.body); // unless its data names one
    shown["status"] = object.status;
    shown["createdAt"] = object.created_at;
    shown["updatedAt"] = object.updated_at;
    return shown;
}

json::object to_json(const Feedback& feedback) {
    return {{"id", feedback.id},
            {"ts", feedback.ts},
            {"traceId", text_or_null(feedback.trace_id)},
            {"episodeId", text_or_null(feedback.episode_id)},
            {"channel", feedback.channel},
            {"polarity", feedback.polarity},
            {"magnitude", feedback.magnitude},
            {"rationale", text_or_null(feedback.rationale)},
            {"raw", stored_json(feedback.raw, nullptr)}};
}

} // namespace holdfast::memory
