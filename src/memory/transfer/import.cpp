// Records into the store.
#include "memory/repository/namespaces.hpp"
#include "memory/transfer/records.hpp"
#include "memory/transfer/values_json.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/rows.hpp"

#include <algorithm>
#include <ctime>
#include <optional>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::int64_t far_future = 9'000'000'000'000'000;
constexpr std::string_view placeholder_agent =
    "imported"; // of a session that a trace named before it was described

// Reads fields of one record; the first thing that is off is kept as the reason.
class Fields {
public:
    explicit Fields(const json::object& record)
        : record_(record) {}

    std::string text(std::string_view name) {
        const auto* value = find(name);
        if (value == nullptr)
            return "";
        if (!value->is_string()) {
            off(cat(name, " must be a string"));
            return "";
        }
        return std::string(value->get_string());
    }
    std::string needed(std::string_view name) {
        auto value = text(name);
        if (value.empty())
            off(cat(name, " is missing"));
        return value;
    }
    // The id of what is stored; empty when absent.
    std::string id() {
        auto value = text("id");
        if (!value.empty() && !is_sound_id(value))
            off(cat("id", sound_id_rule));
        return value;
    }
    // As it is stored and compared; empty when absent.
    std::string name_space() {
        const auto* value = find("namespace");
        return value != nullptr ? namespace_text(*value) : "";
    }
    // JSON as text, without secrets; empty when absent.
    std::string json(std::string_view name, const Cleaner& clean) {
        const auto* value = find(name);
        return value != nullptr ? clean.json(*value) : "";
    }
    std::string list(std::string_view name, const Cleaner& clean) {
        const auto* value = find(name);
        if (value != nullptr && !value->is_array())
            off(cat(name, " must be a list"));
        return value != nullptr && value->is_array() && !value->get_array().empty() ? clean.json(*value) : "";
    }
    double number(std::string_view name, double otherwise, double least, double most) {
        const auto* value = find(name);
        if (value == nullptr)
            return otherwise;
        if (!value->is_number()) {
            off(cat(name, " must be a number"));
            return otherwise;
        }
        return std::clamp(value->to_number<double>(), least, most);
    }
    // Milliseconds since the epoch, or a date such as 2026-05-01T10:00:00Z.
    std::optional<std::int64_t> time(std::string_view name) {
        const auto* value = find(name);
        if (value == nullptr)
            return std::nullopt;
        std::int64_t ms = -1;
        if (value->is_int64())
            ms = value->get_int64();
        else if (value->is_double() && value->get_double() >= 0 && value->get_double() <= 9e15)
            ms = static_cast<std::int64_t>(value->get_double());
        else if (value->is_string())
            ms = from_date(std::string(value->get_string()));
        if (ms < 0 || ms > far_future) {
            off(cat(name, " must be milliseconds since 1970, or a date such as 2026-05-01T10:00:00Z"));
            return std::nullopt;
        }
        return ms;
    }
    [[nodiscard]] const json::value* find(std::string_view name) const {
        const auto* value = record_.if_contains(name);
        return value != nullptr && !value->is_null() ? value : nullptr;
    }
    void off(std::string why) {
        if (reason_.empty())
            reason_ = std::move(why);
    }
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

private:
    static std::int64_t from_date(const std::string& text) {
        std::tm parts{};
        const char* rest = ::strptime(text.c_str(), "%Y-%m-%d", &parts);
        if (rest == nullptr)
            return -1;
        std::tm day = parts;
        (void)::timegm(&day);
        if (day.tm_mday != parts.tm_mday)
            return -1; // it would count on into the next month, 31 February
        std::int64_t ms = 0;
        if (*rest == 'T' || *rest == ' ') {
            rest = ::strptime(rest + 1, "%H:%M:%S", &parts);
            if (rest == nullptr)
                return -1;
            if (*rest == '.') {
                std::int64_t unit = 100;
                for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10)
                    ms += (*rest - '0') * unit;
            }
        }
        std::int64_t shift = 0;
        if (*rest == 'Z') {
            ++rest;
        } else if (*rest == '+' || *rest == '-') {
            std::tm offset{};
            const bool ahead = *rest == '+';
            rest = ::strptime(rest + 1, "%H:%M", &offset);
            if (rest == nullptr)
                return -1;
            shift = (offset.tm_hour * 60 + offset.tm_min) * (ahead ? 1 : -1);
        }
        return *rest == 0 ? (static_cast<std::int64_t>(::timegm(&parts)) - shift * 60) * 1000 + ms : -1;
    }

    const json::object& record_;
    std::string reason_;
};

// An id for a line that has none: the same line gives the same id, so that importing it again changes
// nothing.
std::string id_from(std::string_view prefix, std::initializer_list<std::string_view> parts) {
    std::uint64_t low = 0xcbf29ce484222325ULL;
    std::uint64_t high = 0x84222325cbf29ce4ULL;
    for (const auto part : parts) {
        for (const char c : part) {
            low = (low ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
            high = (high + static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15ULL;
            high ^= high >> 29U;
        }
        low = (low ^ 0xff) * 0x100000001b3ULL;
        high = (high + 0x1ff) * 0x9e3779b97f4a7c15ULL;
    }
    std::string id(prefix);
    for (auto number : {low, high})
        for (int i = 0; i < 12; ++i, number >>= 5U)
            id += id_alphabet[number & 31U];
    return id;
}

// Below, without a `writing` a record is only judged: whether it would be refused.
Outcome refused(std::string why) {
    return {Fate::refused, std::move(why)};
}

Result<Outcome> store_session(WriteContext* writing, Fields& fields, const Cleaner& clean, SameId same_id) {
    Session session;
    session.id = fields.needed("id");
    session.agent = fields.text("agent");
    session.name_space = fields.name_space();
    session.meta = fields.json("meta", clean);
    session.opened_at = fields.time("openedAt").value_or(0);
    session.closed_at = fields.time("closedAt").value_or(0);
    if (!fields.reason().empty())
        return refused(fields.reason());
    if (writing == nullptr)
        return Outcome{};
    auto& context = *writing;
    if (session.agent.empty())
        session.agent = placeholder_agent;
    HF_TRY(there, find_session(context.database, session.id));
    // One that a trace only named is described by the first line about it.
    if (*there && same_id == SameId::kept &&
        ((*there)->agent != placeholder_agent || session.agent == placeholder_agent))
        return Outcome{Fate::present, ""};
    session.row = *there ? (*there)->row : 0;
    HF_TRY(put, put_session(context, session));
    return Outcome{};
}

// The session of that id; made when it is not there.
Result<Session> session_for(WriteContext& context, const std::string& id, std::int64_t at) {
    HF_TRY(there, find_session(context.database, id));
    if (*there)
        return std::move(**there);
    Session session{.id = id, .agent = std::string(placeholder_agent), .opened_at = at};
    HF_TRY(added, add_session(context, session));
    return session;
}

Result<Outcome> store_episode(WriteContext* writing, Fields& fields, const Cleaner& clean, SameId same_id) {
    Episode episode;
    episode.id = fields.needed("id");
    episode.session_id = fields.needed("sessionId");
    episode.opened_at = fields.time("openedAt").value_or(0);
    episode.closed_at = fields.time("closedAt").value_or(0);
    episode.pending_user = clean.text(fields.text("pendingUser"));
    episode.turn_key = clean.text(fields.text("turnKey"));
    episode.meta = fields.json("meta", clean);
    if (!fields.reason().empty())
        return refused(fields.reason());
    if (writing == nullptr)
        return Outcome{};
    auto& context = *writing;
    HF_TRY(there, find_episode(context.database, episode.id));
    if (*there && same_id == SameId::kept)
        return Outcome{Fate::present, ""};
    HF_TRY(session, session_for(context, episode.session_id, episode.opened_at));
    episode.session_row = session->row;
    episode.row = *there ? (*there)->row : 0;
    HF_TRY(put, put_episode(context, episode));
    return Outcome{};
}

Result<Outcome> store_trace(WriteContext* writing, Fields& fields, const Cleaner& clean, SameId same_id) {
    Trace trace;
    trace.id = fields.id();
    trace.session_id = fields.text("sessionId");
    trace.episode_id = fields.text("episodeId");
    const auto ts = fields.time("ts");
    trace.user_text = fields.text("userText");
    trace.agent_text = fields.text("agentText");
    trace.kind = fields.text("kind");
    if (trace.user_text.empty() && trace.agent_text.empty()) {
        trace.user_text = fields.text("text"); // a note, written by hand
        if (trace.kind.empty() && !trace.user_text.empty())
            trace.kind = "note";
    }
    trace.thinking = clean.text(fields.text("agentThinking"));
    const auto* reflection = fields.find("reflection");
    trace.reflection = reflection != nullptr && !reflection->is_string()
                           ? fields.json("reflection", clean)
                           : clean.text(fields.text("reflection"));
    trace.summary = clean.text(fields.text("summary"));
    trace.tags = fields.list("tags", clean);
    trace.tool_calls = fields.list("toolCalls", clean);
    trace.meta = fields.json("meta", clean);
    if (const auto* turn = fields.find("turnId"); turn != nullptr) {
        trace.turn_id = turn->is_string() ? std::string(turn->get_string()) : stored_text(*turn);
        if (ts && trace.turn_id == std::to_string(*ts))
            trace.turn_id.clear(); // that is what it is when there is none
    }
    trace.value = fields.number("value", 0, -1, 1);
    trace.priority = fields.number("priority", 0.5, 0, 1);
    if (!ts)
        fields.off("ts is missing");
    if (trace.id.empty() && trace.user_text.empty() && trace.agent_text.empty() && trace.tool_calls.empty())
        fields.off("there is no text: userText, agentText and text are empty");
    if (!fields.reason().empty())
        return refused(fields.reason());
    if (writing == nullptr)
        return Outcome{};
    auto& context = *writing;
    trace.ts = *ts;
    if (trace.kind.empty())
        trace.kind = "turn";
    if (trace.id.empty())
        trace.id = id_from("tr_", {trace.session_id, trace.episode_id, std::to_string(trace.ts),
                                   trace.user_text, trace.agent_text, trace.tool_calls});
    HF_TRY(there, find_trace(context.database, trace.id));
    if (*there && same_id == SameId::kept)
        return Outcome{Fate::present, ""};
    trace.user_text = clean.text(std::move(trace.user_text));
    trace.agent_text = clean.text(std::move(trace.agent_text));
    if (trace.session_id.empty())
        trace.session_id = "se_imported";
    // Without an episode: one for each day, so that a timeline has something to show.
    if (trace.episode_id.empty())
        trace.episode_id = id_from("ep_", {trace.session_id, std::to_string(trace.ts / 86'400'000)});
    HF_TRY(episode, find_episode(context.database, trace.episode_id));
    if (!*episode) {
        HF_TRY(session, session_for(context, trace.session_id, trace.ts));
        Episode made{.id = trace.episode_id, .session_row = session->row, .opened_at = trace.ts};
        HF_TRY(added, add_episode(context, made));
        trace.session_row = session->row;
        trace.episode_row = made.row;
    } else {
        trace.session_row = (*episode)->session_row;
        trace.episode_row = (*episode)->row;
    }
    if (*there) {
        HF_TRY(changed, rewrite_trace(context, **there, trace));
        return Outcome{*changed ? Fate::stored : Fate::present, ""};
    }
    HF_TRY(inserted, insert_trace(context, trace));
    return Outcome{};
}

Result<Outcome> store_feedback(WriteContext* writing, Fields& fields, const Cleaner& clean) {
    Feedback feedback;
    feedback.id = fields.id();
    feedback.trace_id = fields.text("traceId");
    feedback.episode_id = fields.text("episodeId");
    feedback.channel = fields.needed("channel");
    if (feedback.channel != "explicit" && feedback.channel != "implicit")
        fields.off("channel must be one of explicit, implicit");
    feedback.polarity = fields.needed("polarity");
    if (feedback.polarity != "positive" && feedback.polarity != "negative" && feedback.polarity != "neutral")
        fields.off("polarity must be one of positive, negative, neutral");
    feedback.magnitude = fields.number("magnitude", 1, 0, 1);
    feedback.rationale = clean.text(fields.text("rationale"));
    feedback.raw = fields.json("raw", clean);
    const auto ts = fields.time("ts");
    if (!ts)
        fields.off("ts is missing");
    if (!fields.reason().empty())
        return refused(fields.reason());
    if (writing == nullptr)
        return Outcome{};
    auto& context = *writing;
    feedback.ts = *ts;
    if (feedback.id.empty())
        feedback.id = id_from("fb_", {feedback.trace_id, feedback.episode_id, feedback.polarity,
                                      std::to_string(*ts), feedback.rationale});
    // The value that it moved is part of its trace, so it is not moved a second time.
    HF_TRY(inserted, insert_feedback(context, feedback));
    return *inserted ? Outcome{} : Outcome{Fate::present, ""};
}

Result<Outcome> store_object(WriteContext* writing, ObjectKind kind, Fields& fields, const Cleaner& clean,
                             SameId same_id) {
    StoredObject object;
    object.kind = kind;
    object.id = fields.id();
    if (object.id.empty())
        fields.off("id is missing");
    object.title = clean.text(fields.needed("title"));
    object.body = clean.text(fields.text("body"));
    object.status = fields.text("status");
    object.data = fields.json("data", clean);
    object.created_at = fields.time("createdAt").value_or(0);
    object.updated_at = fields.time("updatedAt").value_or(object.created_at);
    object.trials = static_cast<std::int64_t>(fields.number("trials", 0, 0, 1e15));
    if (!fields.reason().empty())
        return refused(fields.reason());
    if (writing == nullptr)
        return Outcome{};
    auto& context = *writing;
    if (object.status.empty())
        object.status = "active";
    HF_TRY(there, find_object(context.database, kind, object.id));
    if (*there && same_id == SameId::kept)
        return Outcome{Fate::present, ""};
    HF_TRY(put, put_object(context, object));
    if (*there) {
        HF_TRY(counted, set_trials(context, object));
    }
    return Outcome{};
}

} // namespace

namespace {

Result<Outcome> store_or_judge(WriteContext* context, const json::object& record, const Cleaner& clean,
                               SameId same_id) {
    Fields fields(record);
    auto type = fields.text("type");
    if (!fields.reason().empty())
        return refused(fields.reason());
    if (type.empty() &&
        (record.contains("userText") || record.contains("agentText") || record.contains("text")))
        type = "trace";
    if (type == "trace")
        return store_trace(context, fields, clean, same_id);
    if (type == "session")
        return store_session(context, fields, clean, same_id);
    if (type == "episode")
        return store_episode(context, fields, clean, same_id);
    if (type == "feedback")
        return store_feedback(context, fields, clean);
    if (type == "policy")
        return store_object(context, ObjectKind::policy, fields, clean, same_id);
    if (type == "worldModel")
        return store_object(context, ObjectKind::world_model, fields, clean, same_id);
    if (type == "skill")
        return store_object(context, ObjectKind::skill, fields, clean, same_id);
    if (type.empty())
        return refused("there is no type, and no userText, agentText or text either");
    return refused(
        cat("the type \"", type,
            "\" is not known; it is session, episode, trace, feedback, policy, worldModel or skill"));
}

} // namespace

Result<Outcome> store_record(WriteContext& context, const json::object& record, const Cleaner& clean,
                             SameId same_id) {
    return store_or_judge(&context, record, clean, same_id);
}

std::string reason_to_refuse(const json::object& record) {
    return store_or_judge(nullptr, record, Cleaner(false), SameId::kept).value_or(Outcome{}).reason;
}

} // namespace holdfast::memory
