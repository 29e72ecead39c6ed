#include "memory/repository/state_row.hpp"

#include "base/text.hpp"
#include "database/transaction.hpp"
#include "memory/repository/statements.hpp"

#include <algorithm>
#include <cerrno>

namespace holdfast::memory {

Result<StateRow> read_state(Database& database) {
    HF_PREPARE(state, database,
               "SELECT epoch, next_trace, sessions, episodes, traces, feedback, objects FROM state");
    auto row = first(**state, [](const Statement& found) {
        return StateRow{
            found.integer(0),
            found.integer(1),
            {found.integer(2), found.integer(3), found.integer(4), found.integer(5), found.integer(6)}};
    });
    if (!row)
        return std::unexpected(std::move(row.error()));
    if (!*row)
        return fail(Errc::io, "memory store: its state row is missing", EUCLEAN);
    return **row;
}

Result<void> write_state(Database& database, const StateRow& state) {
    HF_PREPARE(save, database,
               "UPDATE state SET next_trace=?1, sessions=?2, episodes=?3, traces=?4, feedback=?5,"
               " objects=?6");
    return (*save)
        ->bind(1, state.next_trace)
        .bind(2, state.totals.sessions)
        .bind(3, state.totals.episodes)
        .bind(4, state.totals.traces)
        .bind(5, state.totals.feedback)
        .bind(6, state.totals.objects)
        .run();
}

Result<std::int64_t> raise_epoch(Database& database, std::int64_t least) {
    auto transaction = database::Transaction::begin(database);
    if (!transaction)
        return std::unexpected(std::move(transaction.error()));
    auto stored = database.scalar("SELECT epoch FROM state");
    if (!stored)
        return stored;
    const auto epoch = std::max(*stored + 1, least);
    auto raised = database.exec(base::cat("UPDATE state SET epoch=", epoch));
    if (raised)
        raised = transaction->commit();
    if (!raised)
        return std::unexpected(std::move(raised.error()));
    return epoch;
}

Result<std::string> store_identity(Database& database) {
    if (auto made =
            database.exec("INSERT INTO settings(name, value) SELECT 'store', lower(hex(randomblob(16)))"
                          " WHERE NOT EXISTS (SELECT 1 FROM settings WHERE name='store')");
        !made)
        return std::unexpected(std::move(made.error()));
    HF_PREPARE(found, database, "SELECT value FROM settings WHERE name='store'");
    auto identity = first(**found, [](const Statement& row) { return row.string(0); });
    if (!identity)
        return std::unexpected(std::move(identity.error()));
    return identity->value_or("");
}

} // namespace holdfast::memory
