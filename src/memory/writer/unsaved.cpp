#include "memory/writer/unsaved.hpp"

#include "base/text.hpp"
#include "database/row_reading.hpp"

#include <sqlite3.h>

#include <string_view>

namespace holdfast::memory {

using base::cat;

void Unsaved::watch(Database& writer) {
    ::sqlite3_update_hook(
        writer.raw(),
        [](void* self, int kind, const char*, const char* table, sqlite3_int64 row) {
            if (kind != SQLITE_DELETE)
                static_cast<Unsaved*>(self)->note(table, row);
        },
        this);
}

void Unsaved::note(const char* table, std::int64_t row) {
    const std::string_view name = table;
    for (std::size_t i = 0; i < stored_tables.size(); ++i)
        if (name == stored_tables.at(i)) {
            if (row <= marks_.at(i))
                changed_.at(i).insert(row);
            return;
        }
}

void Unsaved::database_has_all(Database& database) {
    std::string sql;
    for (const char* table : stored_tables)
        sql += cat(sql.empty() ? "SELECT " : ", ", "(SELECT max(row) FROM ", table, ")");
    auto found = database.prepare(sql);
    if (!found)
        return;
    const auto read = first(**found, [](const Statement& row) {
        decltype(marks_) last{};
        for (std::size_t i = 0; i < last.size(); ++i)
            last.at(i) = row.integer(static_cast<int>(i));
        return last;
    });
    if (!read || !*read)
        return;
    marks_ = **read;
    for (auto& rows : changed_)
        rows.clear();
    forgotten_.clear();
    empty_ = true;
}

void Unsaved::committed(const std::vector<std::string>& forgotten) {
    forgotten_.insert(forgotten_.end(), forgotten.begin(), forgotten.end());
    empty_ = false;
}

} // namespace holdfast::memory
