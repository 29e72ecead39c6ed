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

} // namespace holdfast::memory
