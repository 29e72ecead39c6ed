// Traces as rows.
#include "memory/repository/row_values.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/statements.hpp"
#include "memory/repository/wipe.hpp"

#include <tuple>

namespace holdfast::memory {

namespace {

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

} // namespace

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

} // namespace holdfast::memory
