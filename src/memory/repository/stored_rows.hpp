// The rows of the tables that hold what was said, one after the other, also those of a damaged database: for
// an export.
#pragma once

#include "memory/repository/model.hpp"
#include "memory/repository/tables.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

namespace holdfast::memory {

// A row as the value that it is. A trace is read by trace_at() (rows.hpp).
using StoredRow = std::variant<Session, Episode, Feedback, StoredObject>;

// Of any table but that of the traces. `table`: its place in stored_tables.
Result<std::optional<StoredRow>> stored_row(Database& database, std::size_t table, std::int64_t row);

// What it visits is null for a trace and for an episode: those are read with their session, so one by one
// (where the session of an episode cannot be read, the next episode can). False: no more.
using VisitRow = std::function<bool(std::int64_t row, const StoredRow* content)>;
// The rows of a table from that one on, in their order. False: `visit` wanted no more. Those before one that
// cannot be read are visited, then comes the error.
Result<bool> visit_rows(Database& database, std::size_t table, std::int64_t from, const VisitRow& visit);
// After that error: the last of the rows behind `after` that cannot be read (damage.hpp).
Result<std::int64_t> last_unreadable_row(Database& database, std::size_t table, std::int64_t after);

Result<std::int64_t> last_trace_row(Database& database); // 0: there is none

} // namespace holdfast::memory
