// Tables of which some pages cannot be read: which of their rows are lost, and which are not.
#pragma once

#include "memory/repository/connection.hpp"
#include "memory/repository/model.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace holdfast::memory {

// In place of the last of some rows: all of them, to the end of the table.
inline constexpr std::int64_t none_after = std::int64_t{1} << 40;

// The last row that the table can have: what was counted, or what is at its end. Where neither can be read,
// a number that the size of the file allows.
std::int64_t top_row(Database& database, std::string_view table);

// The last of the rows behind `after`, all beside each other, that cannot be read; none_after when none
// behind it can be. `from` gives the rows from its parameter 1 on ("row>=?1") in their order, and has no
// other parameter. With "row>?1" SQLite would go to the page of that row, which may be the damaged one.
//
// It is never less than `after` + 1: the statement has failed there, whatever it says when it is asked anew.
//
// Each number up to `top` is asked for, so no sound page between two damaged ones is passed over, not even
// one with a single row. That is as much work as there are rows lost, about a microsecond for each; behind
// four millions of them the steps double.
std::int64_t last_unreadable(Database& database, database::Statement& from, std::int64_t after,
                             std::int64_t top);

// Whether a row that a statement gives behind `last`, in the order of rows, can have that number. In a
// damaged page the numbers themselves may be wrong: a lower one would begin everything anew, for ever, and
// behind one that is too high the sound rows up to it would be missed. The content of such a row is that of a
// row whose number is not known.
// `misplaced`: so many rows between `last` and this one had numbers that could not be.
bool is_in_order(Database& database, std::string_view table, std::int64_t last, std::int64_t misplaced,
                 std::int64_t row);
Error not_in_order();

// Hears of rows that are passed over; `last` may be none_after.
using PassedOver =
    std::function<void(std::string_view table, std::int64_t first, std::int64_t last, const Error& why)>;

} // namespace holdfast::memory
