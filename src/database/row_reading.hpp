// For code that turns rows into values: what it would write again each time.
#pragma once

#include "database/database.hpp"

#include <optional>
#include <vector>

namespace holdfast::database {

// Runs a bound statement, and turns each row into a value.
template <class Make>
auto collect(Statement& statement, Make make) -> Result<std::vector<decltype(make(statement))>> {
    std::vector<decltype(make(statement))> values;
    const ScopedReset reset(statement);
    for (;;) {
        auto row = statement.step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row)
            return values;
        values.push_back(make(statement));
    }
}

// The same for the first row; nothing when there is none.
template <class Make>
auto first(Statement& statement, Make make) -> Result<std::optional<decltype(make(statement))>> {
    using Value = std::optional<decltype(make(statement))>;
    const ScopedReset reset(statement);
    auto row = statement.step();
    if (!row)
        return std::unexpected(std::move(row.error()));
    return *row ? Value(make(statement)) : Value();
}

// Runs a bound statement; whether it changed any row.
inline Result<bool> changed(Database& database, Statement& statement) {
    if (auto done = statement.run(); !done)
        return std::unexpected(std::move(done.error()));
    return database.changes() > 0;
}

// `name` is then a Result<Statement*> that holds.
#define HF_PREPARE(name, database, sql)                                                                      \
    auto name = (database).prepare(sql);                                                                     \
    if (!(name))                                                                                             \
    return std::unexpected(std::move((name).error()))

} // namespace holdfast::database
