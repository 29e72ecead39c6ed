#include "memory/repository/namespaces.hpp"

#include "database/transaction.hpp"
#include "memory/repository/statements.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

namespace holdfast::memory {

namespace {

struct Named {
    std::int64_t row;
    std::string text;
};

Result<void> sort_all(Database& database) {
    HF_PREPARE(rows, database, "SELECT row, namespace FROM sessions WHERE namespace IS NOT NULL");
    auto all = collect(**rows, [](const Statement& row) { return Named{row.integer(0), row.string(1)}; });
    if (!all)
        return std::unexpected(std::move(all.error()));
    HF_PREPARE(put, database, "UPDATE sessions SET namespace=?2 WHERE row=?1");
    for (const auto& one : *all) {
        const auto value = json::parse(one.text);
        if (!value)
            continue;
        const auto sorted = namespace_text(*value);
        if (sorted == one.text)
            continue;
        if (auto done = (*put)->bind(1, one.row).bind(2, sorted).run(); !done)
            return done;
    }
    return database.exec("INSERT INTO settings(name, value) VALUES('namespaces', 'sorted')");
}

} // namespace

std::string namespace_text(const json::value& value) {
    return json::to_text(value, {.fractions = json::Fractions::stored, .members = json::Members::sorted});
}

Result<void> sort_stored_namespaces(Database& database) {
    auto done = database.scalar("SELECT count(*) FROM settings WHERE name='namespaces'");
    if (!done)
        return std::unexpected(std::move(done.error()));
    if (*done > 0)
        return {};
    auto transaction = database::Transaction::begin(database);
    if (!transaction)
        return std::unexpected(std::move(transaction.error()));
    auto sorted = sort_all(database);
    return sorted ? transaction->commit() : sorted;
}

} // namespace holdfast::memory
