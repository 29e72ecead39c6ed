// Sessions, episodes, traces and feedback as rows.
#include "memory/repository/rows.hpp"

#include "base/text.hpp"
#include "database/row_reading.hpp"
#include "memory/repository/wipe.hpp"
#include "memory/text/list_words.hpp"

#include <tuple>

namespace holdfast::memory {

using base::cat;

namespace {

#define HF_TRACE_TEXTS                                                                                       \
    "t.ts, t.kind, t.user_text, t.agent_text, t.thinking, "                                                  \
    "t.reflection, t.summary, t.tags, t.tool_calls, t.meta, t.turn_id, t.value, t.priority"
#define HF_TRACE_COLUMNS "t.row, t.id, t.session, t.episode, s.id, e.id, " HF_TRACE_TEXTS
#define HF_TRACE_JOIN                                                                                        \
    " FROM traces t JOIN sessions s ON s.row = t.session JOIN episodes e ON e.row = t.episode "

Trace trace_of(const Statement& row) {
    Trace trace;
    trace.row = row.integer(0);
    trace.id = row.string(1);
    trace.session_row = row.integer(2);
    trace.episode_row = row.integer(3);
    trace.session_id = row.string(4);
    trace.episode_id = row.string(5);
    trace.ts = row.integer(6);
    trace.kind = row.string(7);
    trace.user_text = row.string(8);
    trace.agent_text = row.string(9);
    trace.thinking = row.string(10);
    trace.reflection = row.string(11);
    trace.summary = row.string(12);
    trace.tags = row.string(13);
    trace.tool_calls = row.string(14);
    trace.meta = row.string(15);
    trace.turn_id = row.string(16);
    trace.value = row.real(17);
    trace.priority = row.real(18);
    return trace;
}

Session session_of(const Statement& row) {
    return {row.integer(0), row.string(1),  row.string(2), row.string(3),
            row.string(4),  row.integer(5), row.integer(6)};
}

Episode episode_of(const Statement& row) {
    return {row.integer(0), row.string(1), row.integer(2), row.string(3), row.integer(4),
            row.integer(5), row.string(6), row.string(7),  row.integer(8)};
}

Feedback feedback_row(const Statement& row) {
    return {row.string(0), row.string(1), row.string(2), row.string(3), row.string(4),
            row.real(5),   row.string(6), row.string(7), row.integer(8)};
}

// A turn without tools has an empty list, and none once it was exported and brought in again.
std::string_view list_of_tools(const Trace& trace) {
    return trace.tool_calls.empty() ? "[]" : std::string_view(trace.tool_calls);
}

std::int64_t fingerprint_of(const Trace& trace) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    const auto mix = [&](std::string_view text) {
        for (const char c : text)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        hash = (hash ^ 0xff) * 0x100000001b3ULL;
    };
    mix(trace.kind);
    mix(trace.user_text);
    mix(trace.agent_text);
    mix(list_of_tools(trace));
    return static_cast<std::int64_t>(hash);
}

// What a person typed, as an FTS5 query: words only, all of them, the last one open-ended. No word needs
// quoting inside: they are letters and digits.
std::string match_of(std::string_view typed) {
    std::string match;
    for (const auto& wanted : wanted_words(typed))
        match += cat(match.empty() ? "" : " AND ", '"', wanted.word, wanted.open_ended ? "\"*" : "\"");
    return match;
}

} // namespace

Result<std::optional<Session>> find_session(Database& database, std::string_view id) {
    HF_PREPARE(found, database,
               "SELECT row, id, agent, namespace, meta, opened_at, closed_at FROM sessions WHERE id=?1");
    (*found)->bind(1, id);
    return first(**found, session_of);
}

#define HF_EPISODE_SELECT                                                                                    \
    "SELECT e.row, e.id, e.session, s.id, e.opened_at, e.closed_at, e.pending_user, e.turn_key, e.turns"     \
    " FROM episodes e JOIN sessions s ON s.row = e.session "

Result<std::optional<Episode>> find_episode(Database& database, std::string_view id) {
    HF_PREPARE(found, database, HF_EPISODE_SELECT "WHERE e.id=?1");
    (*found)->bind(1, id);
    return first(**found, episode_of);
}

Result<std::optional<Episode>> open_episode_of(Database& database, std::int64_t session_row) {
    HF_PREPARE(found, database,
               HF_EPISODE_SELECT "WHERE e.session=?1 AND e.closed_at IS NULL ORDER BY e.row DESC LIMIT 1");
    (*found)->bind(1, session_row);
    return first(**found, episode_of);
}

Result<std::optional<Trace>> find_trace(Database& database, std::string_view id) {
    HF_PREPARE(found, database, "SELECT " HF_TRACE_COLUMNS HF_TRACE_JOIN "WHERE t.id=?1");
    (*found)->bind(1, id);
    return first(**found, trace_of);
}

Result<std::optional<Trace>> trace_at(Database& database, std::int64_t row) {
    HF_PREPARE(found, database, "SELECT " HF_TRACE_COLUMNS HF_TRACE_JOIN "WHERE t.row=?1");
    (*found)->bind(1, row);
    return first(**found, trace_of);
}

Result<std::optional<Trace>> trace_alone_at(Database& database, std::int64_t row) {
    HF_PREPARE(found, database,
               "SELECT t.row, t.id, t.session, t.episode, NULL, NULL, " HF_TRACE_TEXTS
               " FROM traces t WHERE t.row=?1");
    (*found)->bind(1, row);
    auto trace = first(**found, trace_of);
    if (!trace || !*trace)
        return trace;
    const auto id_at = [&](const char* sql, std::int64_t at) -> Result<std::optional<std::string>> {
        HF_PREPARE(id, database, sql);
        (*id)->bind(1, at);
        return first(**id, [](const Statement& there) { return there.string(0); });
    };
    if (const auto session = id_at("SELECT id FROM sessions WHERE row=?1", (*trace)->session_row))
        (*trace)->session_id = session->value_or("");
    if (const auto episode = id_at("SELECT id FROM episodes WHERE row=?1", (*trace)->episode_row))
        (*trace)->episode_id = episode->value_or("");
    return trace;
}

Result<std::vector<Trace>> timeline(Database& database, std::int64_t episode_row) {
    HF_PREPARE(rows, database,
               "SELECT " HF_TRACE_COLUMNS HF_TRACE_JOIN "WHERE t.episode=?1 ORDER BY t.ts, t.row");
    (*rows)->bind(1, episode_row);
    return collect(**rows, trace_of);
}

Result<std::vector<Trace>> list_traces(Database& database, const ListFilter& filter) {
    const std::string match = match_of(filter.words);
    if (!filter.words.empty() && match.empty())
        return std::vector<Trace>{}; // only punctuation: no word can match
    std::string sql = "SELECT " HF_TRACE_COLUMNS HF_TRACE_JOIN "WHERE ";
    if (!match.empty())
        sql += "t.row IN (SELECT rowid FROM traces_words WHERE traces_words MATCH ?4 ORDER BY rowid DESC "
               "LIMIT 5000) AND ";
    sql += filter.session_row != 0 ? "t.session=?1 ORDER BY t.ts DESC, t.row DESC LIMIT ?2 OFFSET ?3"
                                   : "?1=0 ORDER BY t.row DESC LIMIT ?2 OFFSET ?3";
    HF_PREPARE(rows, database, sql);
    (*rows)->bind(1, filter.session_row).bind(2, filter.limit).bind(3, filter.offset);
    if (!match.empty())
        (*rows)->bind(4, match);
    return collect(**rows, trace_of);
}

Result<std::vector<std::string>> list_episode_ids(Database& database, const ListFilter& filter) {
    const std::string match = match_of(filter.words);
    std::string sql = "SELECT id FROM episodes WHERE ";
    if (!filter.words.empty())
        sql += "row IN (SELECT episode FROM traces WHERE row IN (SELECT rowid FROM traces_words WHERE "
               "traces_words"
               " MATCH ?4 ORDER BY rowid DESC LIMIT 5000)) AND ";
    sql += filter.session_row != 0 ? "session=?1" : "?1=0";
    sql += " ORDER BY row DESC LIMIT ?2 OFFSET ?3";
    HF_PREPARE(rows, database, sql);
    (*rows)->bind(1, filter.session_row).bind(2, filter.limit).bind(3, filter.offset);
    if (!filter.words.empty()) {
        if (match.empty())
            return std::vector<std::string>{};
        (*rows)->bind(4, match);
    }
    return collect(**rows, [](const Statement& row) { return row.string(0); });
}

Result<std::vector<Session>> list_sessions(Database& database, std::int64_t limit, std::int64_t offset) {
    HF_PREPARE(rows, database,
               "SELECT row, id, agent, namespace, meta, opened_at, closed_at FROM sessions"
               " ORDER BY row DESC LIMIT ?1 OFFSET ?2");
    (*rows)->bind(1, limit).bind(2, offset);
    return collect(**rows, session_of);
}

Result<std::vector<Feedback>> feedback_of(Database& database, std::string_view trace_id) {
    HF_PREPARE(rows, database,
               "SELECT id, trace_id, episode_id, channel, polarity, magnitude, rationale, raw, ts"
               " FROM feedback WHERE trace_id=?1 ORDER BY row");
    (*rows)->bind(1, trace_id);
    return collect(**rows, feedback_row);
}

Result<void> add_session(WriteContext& context, Session& session) {
    HF_PREPARE(insert, context.database,
               "INSERT INTO sessions(id, agent, namespace, meta, opened_at) VALUES(?1, ?2, ?3, ?4, ?5)"
               " ON CONFLICT(id) DO NOTHING");
    (*insert)
        ->bind(1, session.id)
        .bind(2, session.agent)
        .bind_or_null(3, session.name_space)
        .bind_or_null(4, session.meta)
        .bind(5, session.opened_at);
    if (auto done = (*insert)->run(); !done)
        return done;
    if (context.database.changes() == 1) {
        session.row = context.database.last_row_id();
        ++context.totals.sessions;
        return {};
    }
    // A session that is opened again is open again.
    HF_PREPARE(reopen, context.database,
               "UPDATE sessions SET closed_at=NULL WHERE id=?1 AND closed_at IS NOT NULL");
    if (auto done = (*reopen)->bind(1, session.id).run(); !done)
        return done;
    auto existing = find_session(context.database, session.id);
    if (!existing)
        return std::unexpected(std::move(existing.error()));
    session = std::move(**existing);
    return {};
}

Result<void> close_session(WriteContext& context, std::int64_t row, std::int64_t at) {
    HF_PREPARE(episodes, context.database,
               "UPDATE episodes SET closed_at=?2 WHERE session=?1 AND closed_at IS NULL");
    if (auto done = (*episodes)->bind(1, row).bind(2, at).run(); !done)
        return done;
    HF_PREPARE(close, context.database,
               "UPDATE sessions SET closed_at=?2 WHERE row=?1 AND closed_at IS NULL");
    return (*close)->bind(1, row).bind(2, at).run();
}

Result<void> add_episode(WriteContext& context, Episode& episode) {
    HF_PREPARE(
        insert, context.database,
        "INSERT INTO episodes(id, session, opened_at, pending_user, turn_key) VALUES(?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT(id) DO NOTHING");
    (*insert)
        ->bind(1, episode.id)
        .bind(2, episode.session_row)
        .bind(3, episode.opened_at)
        .bind_or_null(4, episode.pending_user)
        .bind_or_null(5, episode.turn_key);
    if (auto done = (*insert)->run(); !done)
        return done;
    if (context.database.changes() == 1) {
        episode.row = context.database.last_row_id();
        ++context.totals.episodes;
        return {};
    }
    auto existing = find_episode(context.database, episode.id);
    if (!existing)
        return std::unexpected(std::move(existing.error()));
    episode = std::move(**existing);
    return {};
}

Result<void> close_episode(WriteContext& context, std::int64_t row, std::int64_t at) {
    HF_PREPARE(close, context.database,
               "UPDATE episodes SET closed_at=?2 WHERE row=?1 AND closed_at IS NULL");
    return (*close)->bind(1, row).bind(2, at).run();
}

Result<void> set_pending(WriteContext& context, std::int64_t episode_row, std::string_view user_text,
                         std::string_view turn_key) {
    HF_PREPARE(set, context.database, "UPDATE episodes SET pending_user=?2, turn_key=?3 WHERE row=?1");
    return (*set)->bind(1, episode_row).bind_or_null(2, user_text).bind_or_null(3, turn_key).run();
}

Result<void> add_trace(WriteContext& context, Trace& trace) {
    const auto fingerprint = fingerprint_of(trace);
    {
        HF_PREPARE(same, context.database,
                   "SELECT id, row FROM traces WHERE episode=?1 AND ts=?2 AND fingerprint=?3");
        (*same)->bind(1, trace.episode_row).bind(2, trace.ts).bind(3, fingerprint);
        const ScopedReset reset(**same);
        auto row = (*same)->step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (*row) {
            trace.id = (*same)->string(0);
            trace.row = (*same)->integer(1);
            return {};
        }
    }
    return insert_trace(context, trace, trace.kind == "turn");
}

Result<bool> find_same_answer(WriteContext& context, Trace& trace) {
    HF_PREPARE(same, context.database,
               "SELECT id, row FROM traces WHERE episode=?1 AND ts=?2 AND kind=?3 AND agent_text=?4"
               " AND coalesce(tool_calls, '[]')=?5");
    (*same)
        ->bind(1, trace.episode_row)
        .bind(2, trace.ts)
        .bind(3, trace.kind)
        .bind(4, trace.agent_text)
        .bind(5, list_of_tools(trace));
    const ScopedReset reset(**same);
    auto row = (*same)->step();
    if (row && *row) {
        trace.id = (*same)->string(0);
        trace.row = (*same)->integer(1);
    }
    return row;
}

Result<void> insert_trace(WriteContext& context, Trace& trace, bool ends_turn) {
    HF_PREPARE(
        insert, context.database,
        "INSERT INTO traces(row, id, session, episode, ts, kind, user_text, agent_text, thinking, reflection,"
        " summary, tags, tool_calls, meta, turn_id, value, priority, fingerprint)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)");
    trace.row = context.next_trace;
    (*insert)
        ->bind(1, trace.row)
        .bind(2, trace.id)
        .bind(3, trace.session_row)
        .bind(4, trace.episode_row)
        .bind(5, trace.ts)
        .bind(6, trace.kind)
        .bind(7, trace.user_text)
        .bind(8, trace.agent_text)
        .bind_or_null(9, trace.thinking)
        .bind_or_null(10, trace.reflection)
        .bind_or_null(11, trace.summary)
        .bind_or_null(12, trace.tags)
        .bind_or_null(13, trace.tool_calls)
        .bind_or_null(14, trace.meta)
        .bind_or_null(15, trace.turn_id)
        .bind(16, trace.value)
        .bind(17, trace.priority)
        .bind(18, fingerprint_of(trace));
    if (auto done = (*insert)->run(); !done)
        return done;
    HF_PREPARE(count, context.database,
               ends_turn ? "UPDATE episodes SET turns=turns+1, pending_user=NULL WHERE row=?1"
                         : "UPDATE episodes SET turns=turns+1 WHERE row=?1");
    if (auto done = (*count)->bind(1, trace.episode_row).run(); !done)
        return done;
    ++context.next_trace;
    ++context.totals.traces;
    context.changes.came.push_back(trace.row);
    return {};
}

Result<void> replace_text(WriteContext& context, Trace& trace) {
    HF_PREPARE(
        update, context.database,
        "UPDATE traces SET row=?2, user_text=?3, agent_text=?4, summary=?5, reflection=?6, fingerprint=?7"
        " WHERE row=?1");
    const auto new_row = context.next_trace;
    (*update)
        ->bind(1, trace.row)
        .bind(2, new_row)
        .bind(3, trace.user_text)
        .bind(4, trace.agent_text)
        .bind_or_null(5, trace.summary)
        .bind_or_null(6, trace.reflection)
        .bind(7, fingerprint_of(trace));
    if (auto done = (*update)->run(); !done)
        return done;
    context.changes.went.push_back(trace.row);
    context.changes.came.push_back(new_row);
    trace.row = new_row;
    ++context.next_trace;
    return {};
}

Result<bool> rewrite_trace(WriteContext& context, const Trace& there, Trace& trace) {
    const auto words = [](const Trace& of) {
        return std::tie(of.session_row, of.episode_row, of.ts, of.kind, of.user_text, of.agent_text,
                        of.thinking, of.reflection, of.summary, of.tags, of.meta, of.turn_id);
    };
    trace.row = there.row;
    const bool same_words = words(there) == words(trace) && list_of_tools(there) == list_of_tools(trace);
    if (same_words && there.value == trace.value && there.priority == trace.priority)
        return false;
    if (!same_words)
        trace.row = context.next_trace++;
    HF_PREPARE(
        update, context.database,
        "UPDATE traces SET row=?2, session=?3, episode=?4, ts=?5, kind=?6, user_text=?7, agent_text=?8,"
        " thinking=?9, reflection=?10, summary=?11, tags=?12, tool_calls=?13, meta=?14, turn_id=?15,"
        " value=?16, priority=?17, fingerprint=?18 WHERE row=?1");
    (*update)
        ->bind(1, there.row)
        .bind(2, trace.row)
        .bind(3, trace.session_row)
        .bind(4, trace.episode_row)
        .bind(5, trace.ts)
        .bind(6, trace.kind)
        .bind(7, trace.user_text)
        .bind(8, trace.agent_text)
        .bind_or_null(9, trace.thinking)
        .bind_or_null(10, trace.reflection)
        .bind_or_null(11, trace.summary)
        .bind_or_null(12, trace.tags)
        .bind_or_null(13, trace.tool_calls)
        .bind_or_null(14, trace.meta)
        .bind_or_null(15, trace.turn_id)
        .bind(16, trace.value)
        .bind(17, trace.priority)
        .bind(18, fingerprint_of(trace));
    if (auto done = (*update)->run(); !done)
        return std::unexpected(std::move(done.error()));
    if (!same_words) {
        context.changes.went.push_back(there.row);
        context.changes.came.push_back(trace.row);
    }
    return true;
}

Result<bool> delete_trace(WriteContext& context, std::string_view id) {
    HF_PREPARE(remove, context.database, "DELETE FROM traces WHERE id=?1 RETURNING row, episode");
    (*remove)->bind(1, id);
    struct Place {
        std::int64_t row;
        std::int64_t episode;
    };
    auto gone = first(**remove, [](const Statement& row) { return Place{row.integer(0), row.integer(1)}; });
    if (!gone)
        return std::unexpected(std::move(gone.error()));
    if (!*gone)
        return false;
    HF_PREPARE(count, context.database, "UPDATE episodes SET turns=turns-1 WHERE row=?1 AND turns>0");
    if (auto done = (*count)->bind(1, (*gone)->episode).run(); !done)
        return std::unexpected(std::move(done.error()));
    if (auto marked = mark_forgotten(context.database); !marked)
        return std::unexpected(std::move(marked.error()));
    context.changes.went.push_back((*gone)->row);
    context.changes.forgotten.emplace_back(id);
    --context.totals.traces;
    return true;
}

Result<bool> insert_feedback(WriteContext& context, const Feedback& feedback) {
    HF_PREPARE(
        insert, context.database,
        "INSERT INTO feedback(id, trace_id, episode_id, channel, polarity, magnitude, rationale, raw, ts)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(id) DO NOTHING");
    (*insert)
        ->bind(1, feedback.id)
        .bind_or_null(2, feedback.trace_id)
        .bind_or_null(3, feedback.episode_id)
        .bind(4, feedback.channel)
        .bind(5, feedback.polarity)
        .bind(6, feedback.magnitude)
        .bind_or_null(7, feedback.rationale)
        .bind_or_null(8, feedback.raw)
        .bind(9, feedback.ts);
    auto inserted = changed(context.database, **insert);
    if (inserted && *inserted)
        ++context.totals.feedback;
    return inserted;
}

Result<void> add_feedback(WriteContext& context, const Feedback& feedback) {
    auto inserted = insert_feedback(context, feedback);
    if (!inserted)
        return std::unexpected(std::move(inserted.error()));
    if (!*inserted)
        return {};
    if (feedback.trace_id.empty() || feedback.polarity == "neutral")
        return {};
    // A step toward +1 or -1: later words weigh more than earlier ones, and the value stays in its range.
    // What a person said explicitly moves it twice as far as what was inferred.
    const double goal = feedback.polarity == "positive" ? 1.0 : -1.0;
    const double rate = (feedback.channel == "explicit" ? 0.6 : 0.3) * feedback.magnitude;
    HF_PREPARE(move, context.database, "UPDATE traces SET value=value+(?2-value)*?3 WHERE id=?1");
    return (*move)->bind(1, feedback.trace_id).bind(2, goal).bind(3, rate).run();
}

} // namespace holdfast::memory
