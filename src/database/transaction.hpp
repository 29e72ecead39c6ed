// A transaction that writes: rolled back unless it is committed.
#pragma once

#include "database/database.hpp"

#include <utility>

namespace holdfast::database {

class Transaction {
public:
    // Takes the lock for writing at once, so that it cannot be refused later.
    static Result<Transaction> begin(Database& database) {
        if (auto begun = database.exec("BEGIN IMMEDIATE"); !begun)
            return std::unexpected(std::move(begun.error()));
        return Transaction(database);
    }
    Transaction(Transaction&& other) noexcept
        : database_(std::exchange(other.database_, nullptr)) {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    Transaction& operator=(Transaction&&) = delete;
    // Some errors (a full disk, for one) have rolled it back already.
    ~Transaction() {
        if (database_ != nullptr && database_->in_transaction())
            (void)database_->exec("ROLLBACK");
    }
    Result<void> commit() { return database_->exec("COMMIT"); }

private:
    explicit Transaction(Database& database) noexcept
        : database_(&database) {}
    Database* database_;
};

} // namespace holdfast::database
