#include "memory/repository/tables.hpp"

#include "base/text.hpp"
#include "memory/repository/statements.hpp"

#include <string>

namespace holdfast::memory {

using base::cat;

Result<LastRows> last_rows(Database& database) {
    std::string sql;
    for (const char* table : stored_tables)
        sql += cat(sql.empty() ? "SELECT " : ", ", "(SELECT max(row) FROM ", table, ")");
    HF_PREPARE(found, database, sql);
    auto rows = first(**found, [](const Statement& row) {
        LastRows last{};
        for (std::size_t i = 0; i < last.size(); ++i)
            last.at(i) = row.integer(static_cast<int>(i));
        return last;
    });
    if (!rows)
        return std::unexpected(std::move(rows.error()));
    return rows->value_or(LastRows{});
}

} // namespace holdfast::memory
