#include "memory/repository/trace_scan.hpp"

#include "base/text.hpp"
#include "memory/repository/damage.hpp"
#include "memory/repository/statements.hpp"

#include <algorithm>

namespace holdfast::memory {

using base::cat;

namespace {

// One parameter, and no more: last_unreadable() binds it again and again.
std::string indexed_texts(std::int64_t limit) {
    return cat("SELECT row, session, ts, user_text, agent_text, reflection, tags, tool_calls"
               " FROM traces WHERE row>=?1 ORDER BY row LIMIT ",
               limit);
}

Result<std::string> id_at(Database& database, const char* sql, std::int64_t row) {
    HF_PREPARE(found, database, sql);
    (*found)->bind(1, row);
    auto id = first(**found, [](const Statement& there) { return there.string(0); });
    if (!id)
        return std::unexpected(std::move(id.error()));
    return id->value_or("");
}

} // namespace

Result<std::int64_t> next_trace_row(Database& database) {
    return database.scalar("SELECT next_trace FROM state");
}

Result<std::int64_t> count_traces_from(Database& database, std::int64_t row) {
    HF_PREPARE(count, database, "SELECT count(*) FROM traces WHERE row>=?1");
    (*count)->bind(1, row);
    auto number = first(**count, [](const Statement& there) { return there.integer(0); });
    if (!number)
        return std::unexpected(std::move(number.error()));
    return number->value_or(0);
}

Result<std::optional<TracePlace>> place_of_trace(Database& database, std::int64_t row) {
    HF_PREPARE(found, database, "SELECT session, ts FROM traces WHERE row=?1");
    (*found)->bind(1, row);
    return first(**found, [row](const Statement& there) {
        return TracePlace{row, there.integer(0), there.integer(1)};
    });
}

Result<void> visit_places(Database& database, const std::function<bool(const TracePlace&)>& visit) {
    HF_PREPARE(rows, database, "SELECT row, session, ts FROM traces");
    const ScopedReset reset(**rows);
    for (;;) {
        auto row = (*rows)->step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row || !visit({(*rows)->integer(0), (*rows)->integer(1), (*rows)->integer(2)}))
            return {};
    }
}

Result<std::vector<std::int64_t>> trace_rows_in(Database& database, std::int64_t episode_row,
                                                std::int64_t most) {
    HF_PREPARE(found, database, "SELECT row FROM traces WHERE episode=?1 ORDER BY ts DESC LIMIT ?2");
    (*found)->bind(1, episode_row).bind(2, most);
    auto rows = collect(**found, [](const Statement& row) { return row.integer(0); });
    if (rows)
        std::ranges::sort(*rows);
    return rows;
}

Result<bool> visit_indexed_texts(Database& database, std::int64_t from, std::int64_t limit,
                                 const std::function<void(const IndexedTexts&)>& visit) {
    HF_PREPARE(rows, database, indexed_texts(limit));
    (*rows)->bind(1, from);
    const ScopedReset reset(**rows);
    for (bool any = false;; any = true) {
        auto row = (*rows)->step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row)
            return any;
        visit({{(*rows)->integer(0), (*rows)->integer(1), (*rows)->integer(2)},
               (*rows)->text(3),
               (*rows)->text(4),
               (*rows)->text(5),
               (*rows)->text(6),
               (*rows)->text(7)});
    }
}

Result<std::int64_t> last_unreadable_texts(Database& database, std::int64_t after, std::int64_t limit) {
    HF_PREPARE(rows, database, indexed_texts(limit));
    return last_unreadable(database, **rows, after, top_row(database, "traces"));
}

Result<void> visit_said(Database& database, std::int64_t after, std::int64_t limit, const VisitSaid& visit) {
    HF_PREPARE(rows, database,
               "SELECT row, user_text, agent_text FROM traces WHERE row>?1 ORDER BY row LIMIT ?2");
    (*rows)->bind(1, after).bind(2, limit);
    const ScopedReset reset(**rows);
    for (;;) {
        auto row = (*rows)->step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row)
            return {};
        visit((*rows)->integer(0), (*rows)->text(1), (*rows)->text(2));
    }
}

Result<std::optional<RankedTrace>> ranked_trace(Database& database, std::int64_t row) {
    HF_PREPARE(found, database,
               "SELECT id, ts, user_text, agent_text, value, priority, episode, session"
               " FROM traces WHERE row=?1");
    (*found)->bind(1, row);
    return first(**found, [](const Statement& there) {
        return RankedTrace{there.string(0), there.integer(1), there.string(2),  there.string(3),
                           there.real(4),   there.real(5),    there.integer(6), there.integer(7)};
    });
}

Result<std::optional<TraceDetails>> trace_details(Database& database, std::int64_t row) {
    HF_PREPARE(found, database, "SELECT reflection, tags, tool_calls FROM traces WHERE row=?1");
    (*found)->bind(1, row);
    return first(**found, [](const Statement& there) {
        return TraceDetails{there.string(0), there.string(1), there.string(2)};
    });
}

Result<std::string> session_id_at(Database& database, std::int64_t row) {
    return id_at(database, "SELECT id FROM sessions WHERE row=?1", row);
}

Result<std::string> episode_id_at(Database& database, std::int64_t row) {
    return id_at(database, "SELECT id FROM episodes WHERE row=?1", row);
}

Result<std::optional<SessionScope>> session_scope(Database& database, std::int64_t row) {
    HF_PREPARE(found, database, "SELECT agent, namespace FROM sessions WHERE row=?1");
    (*found)->bind(1, row);
    return first(**found,
                 [](const Statement& there) { return SessionScope{there.string(0), there.string(1)}; });
}

} // namespace holdfast::memory
