// Feedback as rows.
#include "memory/repository/row_values.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/statements.hpp"

namespace holdfast::memory {

Result<std::vector<Feedback>> feedback_of(Database& database, std::string_view trace_id) {
    HF_PREPARE(rows, database, "SELECT " HF_FEEDBACK_COLUMNS " FROM feedback WHERE trace_id=?1 ORDER BY row");
    (*rows)->bind(1, trace_id);
    return collect(**rows, [](const Statement& row) { return feedback_row(row); });
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

Result<void> move_value(WriteContext& context, std::string_view trace_id, double goal, double rate) {
    HF_PREPARE(move, context.database, "UPDATE traces SET value=value+(?2-value)*?3 WHERE id=?1");
    return (*move)->bind(1, trace_id).bind(2, goal).bind(3, rate).run();
}

} // namespace holdfast::memory
