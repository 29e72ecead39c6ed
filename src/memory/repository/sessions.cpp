// Sessions as rows.
#include "memory/repository/row_values.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/statements.hpp"

namespace holdfast::memory {

Result<std::optional<Session>> find_session(Database& database, std::string_view id) {
    HF_PREPARE(found, database, "SELECT " HF_SESSION_COLUMNS " FROM sessions WHERE id=?1");
    (*found)->bind(1, id);
    return first(**found, session_of);
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

Result<void> put_session(WriteContext& context, const Session& session) {
    HF_PREPARE(put, context.database,
               "INSERT INTO sessions(id, agent, namespace, meta, opened_at, closed_at)"
               " VALUES(?1, ?2, ?3, ?4, ?5, nullif(?6, 0)) ON CONFLICT(id) DO UPDATE SET"
               " agent=?2, namespace=?3, meta=?4, opened_at=?5, closed_at=nullif(?6, 0)");
    (*put)
        ->bind(1, session.id)
        .bind(2, session.agent)
        .bind_or_null(3, session.name_space)
        .bind_or_null(4, session.meta)
        .bind(5, session.opened_at)
        .bind(6, session.closed_at);
    if (auto done = (*put)->run(); !done)
        return done;
    if (session.row == 0)
        ++context.totals.sessions;
    return {};
}

} // namespace holdfast::memory
