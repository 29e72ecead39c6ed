#include "memory/repository/stored_rows.hpp"

#include "base/text.hpp"
#include "memory/repository/damage.hpp"
#include "memory/repository/row_values.hpp"
#include "memory/repository/statements.hpp"

#include <string>

namespace holdfast::memory {

using base::cat;

namespace {

bool one_by_one(std::size_t table) {
    return table == episodes_table || table == traces_table;
}

ObjectKind kind_of(std::size_t table) {
    return table == skills_table     ? ObjectKind::skill
           : table == policies_table ? ObjectKind::policy
                                     : ObjectKind::world_model;
}

// `which`: a condition on the rows.
std::string select(std::size_t table, std::string_view which) {
    const char* columns = table == sessions_table   ? HF_SESSION_COLUMNS
                          : table == feedback_table ? "row, " HF_FEEDBACK_COLUMNS
                                                    : HF_OBJECT_COLUMNS;
    return cat("SELECT ", columns, " FROM ", stored_tables.at(table), " WHERE ", which);
}

// One parameter, and no more: last_unreadable() binds it again and again.
std::string rows_from(std::size_t table) {
    constexpr std::string_view from_row = "row>=?1 ORDER BY row";
    return one_by_one(table) ? cat("SELECT row FROM ", stored_tables.at(table), " WHERE ", from_row)
                             : select(table, from_row);
}

StoredRow value_of(std::size_t table, const Statement& row) {
    if (table == sessions_table)
        return session_of(row);
    if (table == episodes_table)
        return episode_of(row);
    if (table == feedback_table)
        return feedback_row(row, 1);
    return object_of(row, kind_of(table));
}

} // namespace

Result<std::optional<StoredRow>> stored_row(Database& database, std::size_t table, std::int64_t row) {
    HF_PREPARE(found, database,
               table == episodes_table ? std::string(HF_EPISODE_SELECT "WHERE e.row=?1")
                                       : select(table, "row=?1"));
    (*found)->bind(1, row);
    return first(**found, [table](const Statement& there) { return value_of(table, there); });
}

Result<bool> visit_rows(Database& database, std::size_t table, std::int64_t from, const VisitRow& visit) {
    HF_PREPARE(rows, database, rows_from(table));
    (*rows)->bind(1, from);
    const ScopedReset reset(**rows);
    for (;;) {
        auto there = (*rows)->step();
        if (!there)
            return std::unexpected(std::move(there.error()));
        if (!*there)
            return true;
        std::optional<StoredRow> content;
        if (!one_by_one(table))
            content = value_of(table, **rows);
        if (!visit((*rows)->integer(0), content ? &*content : nullptr))
            return false;
    }
}

Result<std::int64_t> last_unreadable_row(Database& database, std::size_t table, std::int64_t after) {
    HF_PREPARE(rows, database, rows_from(table));
    return last_unreadable(database, **rows, after, top_row(database, stored_tables.at(table)));
}

Result<std::int64_t> last_trace_row(Database& database) {
    return database.scalar("SELECT max(row) FROM traces");
}

} // namespace holdfast::memory
