// Episodes as rows.
#include "memory/repository/row_values.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/statements.hpp"

namespace holdfast::memory {

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

Result<std::vector<std::string>> open_episode_ids(Database& database, std::int64_t session_row) {
    HF_PREPARE(open, database, "SELECT id FROM episodes WHERE session=?1 AND closed_at IS NULL ORDER BY row");
    (*open)->bind(1, session_row);
    return collect(**open, [](const Statement& row) { return row.string(0); });
}

Result<std::optional<std::int64_t>> last_time_in(Database& database, std::int64_t episode_row) {
    HF_PREPARE(last, database, "SELECT max(ts) FROM traces WHERE episode=?1");
    (*last)->bind(1, episode_row);
    auto time = first(**last, [](const Statement& row) {
        return row.is_null(0) ? std::nullopt : std::optional(row.integer(0));
    });
    if (!time)
        return std::unexpected(std::move(time.error()));
    return time->value_or(std::nullopt);
}

Result<std::string> last_trace_in(Database& database, std::int64_t episode_row) {
    HF_PREPARE(last, database, "SELECT id FROM traces WHERE episode=?1 ORDER BY ts DESC, row DESC LIMIT 1");
    (*last)->bind(1, episode_row);
    auto id = first(**last, [](const Statement& row) { return row.string(0); });
    if (!id)
        return std::unexpected(std::move(id.error()));
    return id->value_or("");
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

Result<void> reopen_episode(WriteContext& context, std::int64_t row) {
    HF_PREPARE(open, context.database, "UPDATE episodes SET closed_at=NULL WHERE row=?1");
    return (*open)->bind(1, row).run();
}

Result<void> put_episode(WriteContext& context, const Episode& episode) {
    HF_PREPARE(put, context.database,
               "INSERT INTO episodes(id, session, opened_at, closed_at, pending_user, turn_key, meta)"
               " VALUES(?1, ?2, ?3, nullif(?4, 0), ?5, ?6, ?7) ON CONFLICT(id) DO UPDATE SET"
               " opened_at=?3, closed_at=nullif(?4, 0), pending_user=?5, turn_key=?6, meta=?7");
    (*put)
        ->bind(1, episode.id)
        .bind(2, episode.session_row)
        .bind(3, episode.opened_at)
        .bind(4, episode.closed_at)
        .bind_or_null(5, episode.pending_user)
        .bind_or_null(6, episode.turn_key)
        .bind_or_null(7, episode.meta);
    if (auto done = (*put)->run(); !done)
        return done;
    if (episode.row == 0)
        ++context.totals.episodes;
    return {};
}

} // namespace holdfast::memory
