// For the files that turn rows into values: what each of them would write again.
#pragma once

#include "memory/store/sqlite.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::memory {

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

// Of a damaged table: the last of the rows behind `after` that cannot be read, all of them beside each other
// (damage is a page or more); none_after when no row behind it can be read, as far as anybody can tell.
// The statement gives the rows behind its parameter 1 in their order, and has no other parameter.
inline constexpr std::int64_t none_after = std::int64_t{1} << 40;
inline std::int64_t last_unreadable(Statement& statement, std::int64_t after) {
    const auto can_read_after = [&](std::int64_t row) {
        statement.reset();
        statement.bind(1, row);
        return statement.step().has_value();
    };
    auto bad = after;
    auto good = after + 1;
    for (std::int64_t step = 1; !can_read_after(good); step *= 2) {
        bad = good;
        good += step;
        if (good >= none_after)
            return none_after;
    }
    while (good - bad > 1) {
        const auto middle = bad + (good - bad) / 2;
        (can_read_after(middle) ? good : bad) = middle;
    }
    return good;
}

// `name` is then a Result<Statement*> that holds.
#define HF_PREPARE(name, database, sql)                                                                      \
    auto name = (database).prepare(sql);                                                                     \
    if (!(name))                                                                                             \
    return std::unexpected(std::move((name).error()))

} // namespace holdfast::memory
