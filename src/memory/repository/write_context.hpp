// What a function that changes the memory is given: a connection inside a transaction.
#pragma once

#include "memory/repository/connection.hpp"
#include "memory/repository/model.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::memory {

// Rows of traces that came (added, or changed: a changed text gets a new row) and went (deleted, or changed),
// and the ids of those that were deleted.
struct RowChanges {
    std::vector<std::int64_t> came;
    std::vector<std::int64_t> went;
    std::vector<std::string> forgotten;
    void clear() {
        came.clear();
        went.clear();
        forgotten.clear();
    }
    [[nodiscard]] bool empty() const { return came.empty() && went.empty(); }
};

// What a write function may touch. The totals are written back with the transaction.
struct WriteContext {
    Database& database;
    Totals& totals;
    std::int64_t& next_trace;
    RowChanges& changes; // told to whoever follows the store, after the commit
};

} // namespace holdfast::memory
