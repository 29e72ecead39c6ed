// Tables of which some pages cannot be read: which of their rows are lost, and which are not.
#pragma once

#include "memory/store/model.hpp"
#include "memory/store/row_reading.hpp"
#include "memory/store/sqlite.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace holdfast::memory {

// The last row that the table can have: what was counted, or what is at its end. Where neither can be read,
// a number that the size of the file allows.
std::int64_t top_row(Database& database, std::string_view table);

// The last of the rows behind `after`, all beside each other, that cannot be read; none_after when none
// behind it can be. `from` gives the rows from its parameter 1 on ("row>=?1") in their order, and has no
// other parameter. With "row>?1" SQLite would go to the page of that row, which may be the damaged one.
//
// Each number up to `top` is asked for, so no sound page between two damaged ones is passed over, not even
// one with a single row. That is as much work as there are rows lost, about a microsecond for each; behind
// four millions of them the steps double.
std::int64_t last_unreadable(Database& database, Statement& from, std::int64_t after, std::int64_t top);

// Hears of rows that are passed over; `last` may be none_after.
using PassedOver =
    std::function<void(std::string_view table, std::int64_t first, std::int64_t last, const Error& why)>;

} // namespace holdfast::memory
