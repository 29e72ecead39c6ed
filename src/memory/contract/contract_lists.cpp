// Lists for looking through the memory: newest first, a page at a time.
#include "memory/contract/contract_reading.hpp"
#include "memory/contract/contract_transfer.hpp"
#include "memory/contract/contract_writing.hpp"
#include "memory/domain/sessions.hpp"
#include "memory/repository/pages.hpp"
#include "json/json_parse.hpp"

#include "base/text.hpp"

#include <charconv>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::size_t page_bytes = std::size_t{2} << 20; // of turns: a page ends behind what is over this

std::string to_text(const Place& place) {
    return cat(place.time, '.', place.row);
}

std::optional<Place> place_of(std::string_view text) {
    Place place;
    if (text.empty())
        return place;
    const auto* end = text.data() + text.size();
    const auto time = std::from_chars(text.data(), end, place.time);
    if (time.ec != std::errc{} || time.ptr == end || *time.ptr != '.')
        return std::nullopt;
    const auto row = std::from_chars(time.ptr + 1, end, place.row);
    return row.ec == std::errc{} && row.ptr == end ? std::optional(place) : std::nullopt;
}

struct Wanted {
    std::int64_t limit = 50;
    Place before;
};

std::optional<Wanted> wanted_of(const CallPointer& call) {
    const auto limit = call->integer("limit", false, 1, 500);
    const auto text = call->text("before", false);
    if (call->bad())
        return std::nullopt;
    const auto place = place_of(text);
    if (!place) {
        call->refuse_argument("before is not the next of an earlier page");
        return std::nullopt;
    }
    return Wanted{limit.value_or(50), *place};
}

// Answers {name: entries, next?}.
template <class Entry, class Show>
Result<void> answer_page(const CallPointer& call, const char* name, const Result<Page<Entry>>& page,
                         Show show) {
    if (!page)
        return std::unexpected(page.error());
    json::array list;
    for (const auto& entry : page->entries)
        list.push_back(show(entry));
    json::object shown;
    if (page->next)
        shown["next"] = to_text(*page->next);
    shown[name] = std::move(list);
    call->answer(std::move(shown));
    return {};
}

template <class Value>
json::value or_null(const std::optional<Value>& value) {
    return value ? json::value(*value) : json::value(nullptr);
}

json::value or_null(const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(text);
}

json::value closed_at(bool closed, std::int64_t at) {
    return closed ? json::value(at) : json::value(nullptr);
}

// Stored as text; what is no JSON was never stored by us, and is shown as none.
json::value json_or_null(const std::string& text) {
    return json::parse(text).value_or(nullptr);
}

json::value show_session(const ListedSession& listed) {
    const auto& session = listed.session;
    return {{"id", session.id},
            {"agent", session.agent},
            {"openedAt", session.opened_at},
            {"closedAt", closed_at(listed.closed, session.closed_at)},
            {"episodes", listed.episodes},
            {"turns", listed.turns},
            {"lastTs", or_null(listed.last_ts)},
            {"namespace", json_or_null(session.name_space)},
            {"meta", json_or_null(session.meta)}};
}

json::value show_episode(const ListedEpisode& listed) {
    const auto& episode = listed.episode;
    return {{"id", episode.id},
            {"sessionId", episode.session_id},
            {"agent", listed.agent},
            {"openedAt", episode.opened_at},
            {"closedAt", closed_at(listed.closed, episode.closed_at)},
            {"turns", episode.turns},
            {"title", or_null(listed.title)},
            {"lastTs", or_null(listed.last_ts)}};
}

json::value show_feedback(const ListedFeedback& listed) {
    const auto& feedback = listed.feedback;
    return {{"id", feedback.id},
            {"traceId", or_null(feedback.trace_id)},
            {"episodeId", or_null(feedback.episode_id)},
            {"channel", feedback.channel},
            {"polarity", feedback.polarity},
            {"magnitude", feedback.magnitude},
            {"rationale", or_null(feedback.rationale)},
            {"ts", feedback.ts},
            {"summary", or_null(listed.summary)}};
}

} // namespace

void memory_sessions(const CallPointer& call) {
    const auto wanted = wanted_of(call);
    if (!wanted)
        return;
    reading(call, [call, wanted = *wanted](Database& database) {
        return answer_page(call, "sessions", session_page(database, wanted.before, wanted.limit),
                           show_session);
    });
}

void memory_episodes(const CallPointer& call) {
    auto wanted = wanted_of(call);
    if (!wanted)
        return;
    const auto session_id = call->word("sessionId", false);
    const auto until = call->integer("until", false, 0, INT64_MAX);
    if (call->bad())
        return;
    if (until && wanted->before.time == Place{}.time)
        wanted->before = {*until, 0};
    reading(call, [call, session_id, wanted = *wanted](Database& database) -> Result<void> {
        std::int64_t session_row = 0; // of all
        if (!session_id.empty()) {
            const auto session = find_session(database, session_id);
            if (!session)
                return std::unexpected(session.error());
            if (!*session) {
                refuse(call, domain::no_session(session_id));
                return {};
            }
            session_row = (*session)->row;
        }
        return answer_page(call, "episodes", episode_page(database, wanted.before, wanted.limit, session_row),
                           show_episode);
    });
}

void memory_feedback(const CallPointer& call) {
    const auto wanted = wanted_of(call);
    if (!wanted)
        return;
    reading(call, [call, wanted = *wanted](Database& database) {
        return answer_page(call, "feedback", feedback_page(database, wanted.before, wanted.limit),
                           show_feedback);
    });
}

// The turns of an episode in order: all of them as the contract has it, or a page at a time when a limit is
// given.
void memory_turns(const CallPointer& call) {
    const auto limit = call->integer("limit", false, 1, 500);
    if (call->bad())
        return;
    if (!limit)
        return memory_timeline(call);
    const auto id = call->word("episodeId", true);
    const auto text = call->text("after", false);
    const auto skip = call->integer("skip", false, 0, INT64_MAX);
    const auto name_space = call->name_space();
    if (call->bad())
        return;
    const auto after = text.empty() ? std::optional(Place{-1, -1}) : place_of(text);
    if (!after)
        return call->refuse_argument("after is not the next of an earlier page");
    reading(call,
            [call, id, name_space, after = *after, skip = skip.value_or(0),
             limit = *limit](Database& database) -> Result<void> {
                const auto episode = domain::visible_episode(database, name_space, id);
                if (!episode)
                    return std::unexpected(episode.error());
                if (!*episode) {
                    refuse(call, domain::no_episode(id));
                    return {};
                }
                return answer_page(call, "traces",
                                   trace_page(database, (*episode)->row, after, skip, limit, page_bytes),
                                   [](const Trace& trace) { return json::value(to_json(trace)); });
            });
}

} // namespace holdfast::memory
