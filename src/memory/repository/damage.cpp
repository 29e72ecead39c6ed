#include "memory/repository/damage.hpp"

#include "base/text.hpp"
#include "memory/repository/state_row.hpp"
#include "memory/repository/statements.hpp"

#include <algorithm>
#include <cerrno>

namespace holdfast::memory {

namespace {

// No row of these tables is ever deleted, but those of traces, whose numbers are counted on.
std::int64_t counted(const StateRow& state, std::string_view table) {
    if (table == "traces")
        return state.next_trace - 1;
    if (table == "sessions")
        return state.totals.sessions;
    if (table == "episodes")
        return state.totals.episodes;
    return table == "feedback" ? state.totals.feedback : state.totals.objects;
}

std::int64_t top_by_size(Database& database) {
    constexpr std::int64_t rows_of_a_page = 128; // more than any page has
    constexpr std::int64_t most = 1'000'000;     // about a second of asking
    const auto pages = database.scalar("PRAGMA page_count");
    return std::min(most, pages.value_or(0) * rows_of_a_page);
}

} // namespace

std::int64_t top_row(Database& database, std::string_view table) {
    const auto state = read_state(database);
    const auto end = database.scalar(base::cat("SELECT max(row) FROM ", table));
    if (!state && !end)
        return top_by_size(database);
    return std::max(state ? counted(*state, table) : 0, end.value_or(0));
}

std::int64_t last_unreadable(Database& database, Statement& from, std::int64_t after, std::int64_t top) {
    const auto can_read_from = [&](std::int64_t row) {
        from.reset();
        from.bind(1, row);
        return from.step().has_value();
    };
    // One transaction for all questions: each of its own would look at the log and its locks.
    const bool own = !database.in_transaction() && database.exec("BEGIN").has_value();
    constexpr std::int64_t most_asked = 4'000'000; // also when the counts are damaged, too
    top = std::min(top, after + most_asked);
    const auto find = [&] {
        for (auto row = after + 1; row <= top; ++row)
            if (can_read_from(row))
                return row - 1;
        // Behind what the table should have: there is nothing, or the counts were wrong.
        auto bad = std::max(after, top);
        auto good = bad + 1;
        for (std::int64_t step = 1; !can_read_from(good); step *= 2) {
            bad = good;
            good += step;
            if (good >= none_after)
                return none_after;
        }
        while (good - bad > 1) {
            const auto middle = bad + (good - bad) / 2;
            (can_read_from(middle) ? good : bad) = middle;
        }
        return bad;
    };
    const auto last = std::max(find(), after + 1);
    from.reset();
    if (own)
        (void)database.exec("COMMIT");
    return last;
}

bool is_in_order(Database& database, std::string_view table, std::int64_t last, std::int64_t misplaced,
                 std::int64_t row) {
    const auto place = last + misplaced;
    if (row <= place + 1)
        return row > last;
    // Where rows were forgotten, none is between both. This search goes to the pages that should have them.
    // It may meet with a number that cannot be, too, and then says nothing.
    auto before = database.prepare(base::cat("SELECT max(row) FROM ", table, " WHERE row<?1"));
    if (!before)
        return true;
    (*before)->bind(1, row);
    const ScopedReset reset(**before);
    const auto found = (*before)->step();
    if (!found || !*found)
        return true;
    const auto between = (*before)->integer(0);
    return between <= place || between >= row;
}

Error not_in_order() {
    return {Errc::io, "its number is not in the order of the rows", EUCLEAN};
}

} // namespace holdfast::memory
