#include "memory/repository/pages.hpp"

#include "base/text.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/statements.hpp"

namespace holdfast::memory {

using base::cat;

namespace {

// Runs a bound statement that asks for one row more than `limit`. Its first two columns are time and row.
template <class Make>
auto page_of(Statement& rows, std::int64_t limit, Make make) -> Result<Page<decltype(make(rows))>> {
    const ScopedReset reset(rows);
    Page<decltype(make(rows))> page;
    Place last;
    for (;;) {
        auto row = rows.step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row)
            return page;
        if (static_cast<std::int64_t>(page.entries.size()) == limit) {
            page.next = last;
            return page;
        }
        last = {rows.integer(0), rows.integer(1)};
        page.entries.push_back(make(rows));
    }
}

std::optional<std::int64_t> time_at(const Statement& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(row.integer(column));
}

std::optional<std::string> text_at(const Statement& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(row.string(column));
}

} // namespace

Result<Page<ListedSession>> session_page(Database& database, const Place& before, std::int64_t limit) {
    HF_PREPARE(
        rows, database,
        "SELECT opened_at, row, id, agent, closed_at,"
        " (SELECT count(*) FROM episodes e WHERE e.session=s.row),"
        " (SELECT total(turns) FROM episodes e WHERE e.session=s.row),"
        " (SELECT max(ts) FROM traces t WHERE t.session=s.row), s.namespace, s.meta"
        " FROM sessions s WHERE (opened_at, row) < (?1, ?2) ORDER BY opened_at DESC, row DESC LIMIT ?3");
    (*rows)->bind(1, before.time).bind(2, before.row).bind(3, limit + 1);
    return page_of(**rows, limit, [](const Statement& row) -> ListedSession {
        return {{row.integer(1), row.string(2), row.string(3), row.string(8), row.string(9), row.integer(0),
                 row.integer(4)},
                !row.is_null(4),
                row.integer(5),
                row.integer(6),
                time_at(row, 7)};
    });
}

Result<Page<ListedEpisode>> episode_page(Database& database, const Place& before, std::int64_t limit,
                                         std::int64_t session_row) {
    HF_PREPARE(
        rows, database,
        cat("SELECT e.opened_at, e.row, e.id, s.id, s.agent, e.closed_at, e.turns,"
            " (SELECT coalesce(nullif(t.summary, ''), substr(t.user_text, 1, 160), substr(t.agent_text, 1,"
            " 160)) FROM traces t WHERE t.episode=e.row ORDER BY t.ts, t.row LIMIT 1),"
            " (SELECT max(t.ts) FROM traces t WHERE t.episode=e.row)"
            " FROM episodes e JOIN sessions s ON s.row = e.session WHERE (e.opened_at, e.row) < (?1, ?2) "
            "AND ",
            session_row == 0 ? "?4=0" : "e.session=?4", " ORDER BY e.opened_at DESC, e.row DESC LIMIT ?3"));
    (*rows)->bind(1, before.time).bind(2, before.row).bind(3, limit + 1).bind(4, session_row);
    return page_of(**rows, limit, [](const Statement& row) {
        ListedEpisode listed;
        listed.episode.row = row.integer(1);
        listed.episode.id = row.string(2);
        listed.episode.session_id = row.string(3);
        listed.episode.opened_at = row.integer(0);
        listed.episode.closed_at = row.integer(5);
        listed.episode.turns = row.integer(6);
        listed.agent = row.string(4);
        listed.closed = !row.is_null(5);
        listed.title = text_at(row, 7);
        listed.last_ts = time_at(row, 8);
        return listed;
    });
}

Result<Page<ListedFeedback>> feedback_page(Database& database, const Place& before, std::int64_t limit) {
    HF_PREPARE(rows, database,
               "SELECT 0, f.row, f.id, f.trace_id, f.episode_id, f.channel, f.polarity, f.magnitude,"
               " f.rationale, f.ts, coalesce(nullif(t.summary, ''), substr(t.user_text, 1, 160))"
               " FROM feedback f LEFT JOIN traces t ON t.id=f.trace_id WHERE f.row < ?1"
               " ORDER BY f.row DESC LIMIT ?2");
    (*rows)->bind(1, before.row).bind(2, limit + 1);
    return page_of(**rows, limit, [](const Statement& row) {
        ListedFeedback listed;
        listed.feedback.id = row.string(2);
        listed.feedback.trace_id = row.string(3);
        listed.feedback.episode_id = row.string(4);
        listed.feedback.channel = row.string(5);
        listed.feedback.polarity = row.string(6);
        listed.feedback.magnitude = row.real(7);
        listed.feedback.rationale = row.string(8);
        listed.feedback.ts = row.integer(9);
        listed.summary = text_at(row, 10);
        return listed;
    });
}

Result<Page<Trace>> trace_page(Database& database, std::int64_t episode_row, const Place& after,
                               std::int64_t skip, std::int64_t limit, std::size_t most_bytes) {
    HF_PREPARE(rows, database,
               "SELECT ts, row FROM traces WHERE episode=?1 AND (ts, row) > (?2, ?3)"
               " ORDER BY ts, row LIMIT ?4 OFFSET ?5");
    (*rows)->bind(1, episode_row).bind(2, after.time).bind(3, after.row).bind(4, limit + 1).bind(5, skip);
    const ScopedReset reset(**rows);
    Page<Trace> page;
    Place last;
    std::size_t bytes = 0;
    for (;;) {
        auto there = (*rows)->step();
        if (!there)
            return std::unexpected(std::move(there.error()));
        if (!*there)
            return page;
        if (static_cast<std::int64_t>(page.entries.size()) == limit || bytes > most_bytes) {
            page.next = last;
            return page;
        }
        last = {(*rows)->integer(0), (*rows)->integer(1)};
        auto trace = trace_at(database, last.row);
        if (!trace)
            return std::unexpected(std::move(trace.error()));
        if (*trace) {
            bytes += (*trace)->user_text.size() + (*trace)->agent_text.size() + (*trace)->tool_calls.size() +
                     (*trace)->thinking.size() + (*trace)->meta.size();
            page.entries.push_back(std::move(**trace));
        }
    }
}

} // namespace holdfast::memory
