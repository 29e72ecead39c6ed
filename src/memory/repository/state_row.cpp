#include "memory/repository/state_row.hpp"

#include "database/row_reading.hpp"

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

} // namespace holdfast::memory
