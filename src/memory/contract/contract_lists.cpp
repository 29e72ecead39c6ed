// Lists for looking through the memory: newest first, a page at a time, each page by an index, never by an
// offset.
#include "memory/contract/contract_transfer.hpp"
#include "json/json_parse.hpp"

#include "base/text.hpp"
#include "memory/store/rows.hpp"

#include <charconv>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::int64_t beyond_all = INT64_MAX;
constexpr std::size_t page_bytes = std::size_t{2} << 20; // of turns: a page ends behind what is over this

// A place in a list that is ordered by (time, row).
struct Place {
    std::int64_t time = beyond_all;
    std::int64_t row = beyond_all;
};

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

// Answers {name: rows, next?}: runs `sql` with ?1, ?2 the place, ?3 the limit and one more, ?4 what the
// caller adds. The first two columns are time and row.
template <class Make>
void answer_page(const CallPointer& call, const Wanted& wanted, const char* name, std::string sql,
                 std::int64_t more, Make make) {
    call->service().run(call->peer()->lane(), [=, sql = std::move(sql)](bool open) {
        if (!open)
            return call->refuse(Error{Errc::closed, call->service().failure(), 0});
        auto reader = call->service().store().reader();
        if (!reader)
            return call->refuse(reader.error());
        auto rows = (*reader)->prepare(sql);
        if (!rows)
            return call->refuse(rows.error());
        (*rows)
            ->bind(1, wanted.before.time)
            .bind(2, wanted.before.row)
            .bind(3, wanted.limit + 1)
            .bind(4, more);
        const ScopedReset reset(**rows);
        json::array list;
        json::object shown;
        Place last;
        for (;;) {
            auto row = (*rows)->step();
            if (!row)
                return call->refuse(row.error());
            if (!*row)
                break;
            if (static_cast<std::int64_t>(list.size()) == wanted.limit) {
                shown["next"] = to_text(last);
                break;
            }
            last = {(*rows)->integer(0), (*rows)->integer(1)};
            list.push_back(make(**rows));
        }
        shown[name] = std::move(list);
        call->answer(std::move(shown));
    });
}

json::value or_null(const Statement& row, int column) {
    return row.is_null(column) ? json::value(nullptr) : json::value(row.text(column));
}

json::value time_or_null(const Statement& row, int column) {
    return row.is_null(column) ? json::value(nullptr) : json::value(row.integer(column));
}

// Stored as text; what is no JSON was never stored by us, and is shown as none.
json::value json_or_null(const Statement& row, int column) {
    return json::parse(row.text(column)).value_or(nullptr);
}

} // namespace

void memory_sessions(const CallPointer& call) {
    const auto wanted = wanted_of(call);
    if (!wanted)
        return;
    answer_page(call, *wanted, "sessions",
                "SELECT opened_at, row, id, agent, closed_at,"
                " (SELECT count(*) FROM episodes e WHERE e.session=s.row),"
                " (SELECT total(turns) FROM episodes e WHERE e.session=s.row),"
                " (SELECT max(ts) FROM traces t WHERE t.session=s.row), s.namespace, s.meta"
                " FROM sessions s WHERE (opened_at, row) < (?1, ?2) AND ?4=0 ORDER BY opened_at DESC, row "
                "DESC LIMIT ?3",
                0, [](const Statement& row) -> json::value {
                    return {{"id", row.text(2)},
                            {"agent", row.text(3)},
                            {"openedAt", row.integer(0)},
                            {"closedAt", time_or_null(row, 4)},
                            {"episodes", row.integer(5)},
                            {"turns", row.integer(6)},
                            {"lastTs", time_or_null(row, 7)},
                            {"namespace", json_or_null(row, 8)},
                            {"meta", json_or_null(row, 9)}};
                });
}

void memory_episodes(const CallPointer& call) {
    auto wanted = wanted_of(call);
    if (!wanted)
        return;
    const auto session_id = call->word("sessionId", false);
    const auto until = call->integer("until", false, 0, beyond_all);
    if (call->bad())
        return;
    if (until && wanted->before.time == beyond_all)
        wanted->before = {*until, 0};
    const auto make = [](const Statement& row) -> json::value {
        return {{"id", row.text(2)},          {"sessionId", row.text(3)},         {"agent", row.text(4)},
                {"openedAt", row.integer(0)}, {"closedAt", time_or_null(row, 5)}, {"turns", row.integer(6)},
                {"title", or_null(row, 7)},   {"lastTs", time_or_null(row, 8)}};
    };
    constexpr const char* columns =
        "SELECT e.opened_at, e.row, e.id, s.id, s.agent, e.closed_at, e.turns,"
        " (SELECT coalesce(nullif(t.summary, ''), substr(t.user_text, 1, 160), substr(t.agent_text, 1, 160))"
        "  FROM traces t WHERE t.episode=e.row ORDER BY t.ts, t.row LIMIT 1),"
        " (SELECT max(t.ts) FROM traces t WHERE t.episode=e.row)"
        " FROM episodes e JOIN sessions s ON s.row = e.session WHERE (e.opened_at, e.row) < (?1, ?2) AND ";
    if (session_id.empty())
        return answer_page(call, *wanted, "episodes",
                           cat(columns, "?4=0 ORDER BY e.opened_at DESC, e.row DESC LIMIT ?3"), 0, make);
    call->service().run(call->peer()->lane(), [=](bool open) {
        if (!open)
            return call->refuse(Error{Errc::closed, call->service().failure(), 0});
        auto reader = call->service().store().reader();
        if (!reader)
            return call->refuse(reader.error());
        auto session = find_session(**reader, session_id);
        if (!session)
            return call->refuse(session.error());
        if (!*session)
            return call->refuse_missing("session_not_found", cat("no session ", session_id));
        answer_page(call, *wanted, "episodes",
                    cat(columns, "e.session=?4 ORDER BY e.opened_at DESC, e.row DESC LIMIT ?3"),
                    (*session)->row, make);
    });
}

void memory_feedback(const CallPointer& call) {
    const auto wanted = wanted_of(call);
    if (!wanted)
        return;
    answer_page(
        call, *wanted, "feedback",
        "SELECT 0, f.row, f.id, f.trace_id, f.episode_id, f.channel, f.polarity, f.magnitude, f.rationale, "
        "f.ts,"
        " coalesce(nullif(t.summary, ''), substr(t.user_text, 1, 160)) FROM feedback f LEFT JOIN traces t"
        " ON t.id=f.trace_id WHERE f.row < ?2 AND ?1>=0 AND ?4=0 ORDER BY f.row DESC LIMIT ?3",
        0, [](const Statement& row) -> json::value {
            return {{"id", row.text(2)},
                    {"traceId", or_null(row, 3)},
                    {"episodeId", or_null(row, 4)},
                    {"channel", row.text(5)},
                    {"polarity", row.text(6)},
                    {"magnitude", row.real(7)},
                    {"rationale", or_null(row, 8)},
                    {"ts", row.integer(9)},
                    {"summary", or_null(row, 10)}};
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
    const auto skip = call->integer("skip", false, 0, beyond_all);
    const auto name_space = call->name_space();
    if (call->bad())
        return;
    const auto after = text.empty() ? std::optional(Place{-1, -1}) : place_of(text);
    if (!after)
        return call->refuse_argument("after is not the next of an earlier page");
    call->service().run(call->peer()->lane(), [call, id, name_space, after = *after, skip = skip.value_or(0),
                                               limit = *limit](bool open) {
        if (!open)
            return call->refuse(Error{Errc::closed, call->service().failure(), 0});
        auto reader = call->service().store().reader();
        if (!reader)
            return call->refuse(reader.error());
        auto episode = find_episode(**reader, id);
        if (!episode)
            return call->refuse(episode.error());
        const auto visible =
            *episode ? is_visible(**reader, name_space, (*episode)->session_id) : Result<bool>(false);
        if (!visible)
            return call->refuse(visible.error());
        if (!*visible)
            return call->refuse_missing("episode_not_found", cat("no episode ", id));
        auto rows = (*reader)->prepare("SELECT ts, row FROM traces WHERE episode=?1 AND (ts, row) > (?2, ?3)"
                                       " ORDER BY ts, row LIMIT ?4 OFFSET ?5");
        if (!rows)
            return call->refuse(rows.error());
        (*rows)
            ->bind(1, (*episode)->row)
            .bind(2, after.time)
            .bind(3, after.row)
            .bind(4, limit + 1)
            .bind(5, skip);
        const ScopedReset reset(**rows);
        json::array list;
        json::object shown;
        Place last;
        std::size_t bytes = 0;
        for (;;) {
            auto there = (*rows)->step();
            if (!there)
                return call->refuse(there.error());
            if (!*there)
                break;
            if (static_cast<std::int64_t>(list.size()) == limit || bytes > page_bytes) {
                shown["next"] = to_text(last);
                break;
            }
            last = {(*rows)->integer(0), (*rows)->integer(1)};
            auto trace = trace_at(**reader, last.row);
            if (!trace)
                return call->refuse(trace.error());
            if (*trace) {
                bytes += (*trace)->user_text.size() + (*trace)->agent_text.size() +
                         (*trace)->tool_calls.size() + (*trace)->thinking.size() + (*trace)->meta.size();
                list.push_back(to_json(**trace));
            }
        }
        shown["traces"] = std::move(list);
        call->answer(std::move(shown));
    });
}

} // namespace holdfast::memory
