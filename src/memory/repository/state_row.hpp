// The one row in which a store says whose it is and how much is in it.
#pragma once

#include "memory/repository/connection.hpp"
#include "memory/repository/model.hpp"

namespace holdfast::memory {

struct StateRow {
    std::int64_t epoch = 0;
    std::int64_t next_trace = 0;
    Totals totals;
};

// Error io with EUCLEAN: the row is missing, so this is no whole store.
Result<StateRow> read_state(Database& database);
// All but the epoch.
Result<void> write_state(Database& database, const StateRow& state);
// A transaction of its own: one more than was stored, but not less than `least`. The epoch that it is now.
Result<std::int64_t> raise_epoch(Database& database, std::int64_t least);
// A word that no other store has, made at the first call.
Result<std::string> store_identity(Database& database);

} // namespace holdfast::memory
