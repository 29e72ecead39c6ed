// memory.* and retrieval.*: what reads traces, and what forgets one.
#include "memory/contract/contract_reading.hpp"
#include "memory/contract/contract_writing.hpp"
#include "memory/domain/sessions.hpp"
#include "memory/domain/turns.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"

#include <algorithm>

namespace holdfast::memory {

using base::cat;

namespace {

// topK is a number for all tiers together, or an object with one for each tier; a tier that is not named in
// it is not asked for.
void read_top_k(const CallPointer& call, RecallQuery& query) {
    const auto* given = call->params().if_contains("topK");
    if (given == nullptr || !given->is_object() || given->get_object().empty()) {
        if (given != nullptr && !given->is_object())
            query.top_k = static_cast<std::size_t>(call->integer("topK", false, 1, 200).value_or(10));
        return;
    }
    const auto limit = [&](const char* tier) {
        const auto* value = given->get_object().if_contains(tier);
        if (value == nullptr || value->is_null())
            return std::size_t{0};
        if (!value->is_number())
            call->refuse_argument(cat("topK.", tier, " must be a number"));
        return static_cast<std::size_t>(
            std::clamp(value->is_number() ? value->to_number<double>() : 0.0, 0.0, 200.0));
    };
    query.tiers = TierLimits{limit("tier1"), limit("tier2"), limit("tier3")};
}

Result<std::int64_t> session_row_of(Database& database, const std::string& id) {
    if (id.empty())
        return 0;
    auto session = find_session(database, id);
    if (!session)
        return std::unexpected(std::move(session.error()));
    return *session ? (*session)->row : -1;
}

} // namespace

void memory_search(const CallPointer& call) {
    auto query = std::make_shared<RecallQuery>();
    query->text = call->word("query", true);
    const auto agent = call->text("agent", false);
    query->name_space = call->name_space();
    const auto session_id = call->word("sessionId", false);
    const auto episode_id = call->word("episodeId", false);
    if (const auto* filters = call->params().if_contains("filters");
        filters != nullptr && !filters->is_null()) {
        if (!filters->is_object())
            return call->refuse_argument("filters must be an object");
        const auto time = [&](const char* name) -> std::int64_t {
            const auto* value = filters->get_object().if_contains(name);
            if (value == nullptr || value->is_null())
                return 0;
            if (value->is_int64())
                return value->get_int64();
            if (value->is_double() && value->get_double() >= -9e15 && value->get_double() <= 9e15)
                return static_cast<std::int64_t>(value->get_double()); // as Call::integer takes it
            call->refuse_argument(cat("filters.", name, " must be a number"));
            return 0;
        };
        query->from_ms = time("since");
        query->until_ms = time("until");
        if (const auto* only = filters->get_object().if_contains("agent");
            only != nullptr && !only->is_null()) {
            if (!only->is_string())
                return call->refuse_argument("filters.agent must be a string");
            query->agent = std::string(only->get_string());
        }
    }
    if (call->bad())
        return;
    read_top_k(call, *query);
    if (call->bad())
        return;
    query->now_ms = now_ms();
    reading(call, [call, query, agent, session_id, episode_id](Database& database) -> Result<void> {
        auto session = session_row_of(database, session_id);
        if (!session)
            return std::unexpected(std::move(session.error()));
        if (*session < 0) {
            refuse(call, domain::no_session(session_id));
            return {};
        }
        query->session_row = *session;
        if (!episode_id.empty()) {
            auto episode = find_episode(database, episode_id);
            if (!episode)
                return std::unexpected(std::move(episode.error()));
            if (!*episode) {
                refuse(call, domain::no_episode(episode_id));
                return {};
            }
            query->episode_row = (*episode)->row;
        }
        auto recalled = call->service().recall().search(*query);
        if (!recalled)
            return std::unexpected(std::move(recalled.error()));
        auto shown = to_json(*recalled);
        shown["query"] = {{"agent", agent.empty() ? call->agent() : agent},
                          {"sessionId", session_id},
                          {"episodeId", episode_id},
                          {"query", query->text}};
        call->answer(std::move(shown));
        return {};
    });
}

void memory_get_trace(const CallPointer& call) {
    const auto id = call->word("id", true);
    const auto name_space = call->name_space();
    if (call->bad())
        return;
    reading(call, [call, id, name_space](Database& database) -> Result<void> {
        auto trace = domain::visible_trace(database, name_space, id);
        if (!trace)
            return std::unexpected(std::move(trace.error()));
        if (!*trace) {
            call->answer(nullptr);
            return {};
        }
        auto shown = to_json(**trace);
        auto feedback = feedback_of(database, id);
        if (!feedback)
            return std::unexpected(std::move(feedback.error()));
        shown["feedback"] = to_list(*feedback);
        call->answer(std::move(shown));
        return {};
    });
}

void memory_timeline(const CallPointer& call) {
    const auto id = call->word("episodeId", true);
    const auto name_space = call->name_space();
    if (call->bad())
        return;
    reading(call, [call, id, name_space](Database& database) -> Result<void> {
        auto episode = domain::visible_episode(database, name_space, id);
        if (!episode)
            return std::unexpected(std::move(episode.error()));
        if (!*episode) {
            refuse(call, domain::no_episode(id));
            return {};
        }
        auto traces = timeline(database, (*episode)->row);
        if (!traces)
            return std::unexpected(std::move(traces.error()));
        call->answer(json::object{{"traces", to_list(*traces)}});
        return {};
    });
}

namespace {

void listing(const CallPointer& call, bool episodes) {
    const auto session_id = call->word("sessionId", false);
    const auto limit = call->integer("limit", false, 0, 1000);
    const auto offset = call->integer("offset", false, 0, latest_time);
    const auto words = call->text("q", false);
    if (call->bad())
        return;
    reading(call, [=](Database& database) -> Result<void> {
        auto session = session_row_of(database, session_id);
        if (!session)
            return std::unexpected(std::move(session.error()));
        if (*session < 0) {
            refuse(call, domain::no_session(session_id));
            return {};
        }
        const ListFilter filter{*session, limit.value_or(50), offset.value_or(0), words};
        json::array list;
        if (episodes) {
            auto ids = list_episode_ids(database, filter);
            if (!ids)
                return std::unexpected(std::move(ids.error()));
            for (const auto& id : *ids)
                list.emplace_back(id);
            call->answer(json::object{{"episodeIds", std::move(list)}});
            return {};
        }
        auto traces = list_traces(database, filter);
        if (!traces)
            return std::unexpected(std::move(traces.error()));
        for (const auto& trace : *traces)
            list.push_back(to_json(trace));
        call->answer(json::object{{"traces", std::move(list)}});
        return {};
    });
}

} // namespace

void memory_list_episodes(const CallPointer& call) {
    listing(call, true);
}
void memory_list_traces(const CallPointer& call) {
    listing(call, false);
}

void memory_forget(const CallPointer& call) {
    const auto id = call->word("id", true);
    if (call->bad())
        return;
    change(
        call, [id](WriteContext& context) { return domain::forget(context, id); },
        [call, id](bool) {
            call->answer(json::object{{"ok", true}});
            call->contract().notify("trace.forgotten", {{"traceId", id}});
        });
}

} // namespace holdfast::memory
