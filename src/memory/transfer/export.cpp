// The store into lines.
#include "memory/transfer/records.hpp"

#include "core/json_exact.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"
#include "memory/contract/contract_call.hpp"
#include "memory/store/rows.hpp"

#include <array>
#include <charconv>

namespace holdfast::memory {

using core::cat;
namespace json = boost::json;

namespace {

// One kind of line after the other, each by its rows. What a line needs stands before it.
constexpr std::array kinds = {"session", "episode", "trace", "feedback", "policy", "worldModel", "skill"};

struct Cursor {
    std::size_t kind = 0;
    std::int64_t row = 0;          // the last one that was written
    std::int64_t known_traces = 0; // traces up to this row had their session and episode written before them
};

std::string to_text(const Cursor& cursor) {
    return cat(kinds[cursor.kind], ':', cursor.row, ':', cursor.known_traces);
}

std::optional<Cursor> cursor_of(std::string_view text) {
    Cursor cursor;
    const auto colon = text.find(':');
    for (cursor.kind = 0; cursor.kind < kinds.size() && text.substr(0, colon) != kinds[cursor.kind];)
        ++cursor.kind;
    if (cursor.kind == kinds.size() || colon == text.npos)
        return std::nullopt;
    text.remove_prefix(colon + 1);
    const auto* end = text.data() + text.size();
    auto row = std::from_chars(text.data(), end, cursor.row);
    if (row.ec != std::errc{} || row.ptr == end || *row.ptr != ':')
        return std::nullopt;
    auto known = std::from_chars(row.ptr + 1, end, cursor.known_traces);
    return known.ec == std::errc{} && known.ptr == end ? std::optional(cursor) : std::nullopt;
}

json::value parsed(std::string_view text) {
    if (text.empty())
        return nullptr;
    boost::system::error_code failed;
    auto value = core::parse_exact(text, failed);
    return failed ? json::value(text) : value;
}

json::value time_or_null(std::int64_t ms) {
    return ms == 0 ? json::value(nullptr) : json::value(ms);
}

constexpr const char* session_columns = "row, id, agent, namespace, meta, opened_at, closed_at FROM sessions";
constexpr const char* episode_columns =
    "e.row, e.id, s.id, e.opened_at, e.closed_at, e.pending_user, e.turn_key, e.meta"
    " FROM episodes e JOIN sessions s ON s.row = e.session";

void drop_empty(json::object& line) {
    for (auto member = line.begin(); member != line.end();)
        member = member->value().is_null() ? line.stable_erase(member) : member + 1;
}

json::object session_line(const Statement& row) {
    return {{"type", "session"},
            {"id", row.text(1)},
            {"agent", row.text(2)},
            {"namespace", parsed(row.text(3))},
            {"meta", parsed(row.text(4))},
            {"openedAt", row.integer(5)},
            {"closedAt", time_or_null(row.integer(6))}};
}

json::object episode_line(const Statement& row) {
    json::object line{{"type", "episode"},
                      {"id", row.text(1)},
                      {"sessionId", row.text(2)},
                      {"openedAt", row.integer(3)},
                      {"closedAt", time_or_null(row.integer(4))}};
    if (!row.is_null(5))
        line["pendingUser"] = row.text(5);
    if (!row.is_null(6))
        line["turnKey"] = row.text(6);
    line["meta"] = parsed(row.text(7));
    return line;
}

class Page {
public:
    Page(Database& database, ExportPage& page)
        : database_(database)
        , page_(page) {}

    // Rows of `sql` (first column: the row) after the cursor, each through `make`, until there are no more
    // (true) or the page is full (false).
    template <class Make>
    Result<bool> rows(const std::string& sql, Cursor& cursor, Make make) {
        auto statement = database_.prepare(sql);
        if (!statement)
            return std::unexpected(std::move(statement.error()));
        (*statement)->bind(1, cursor.row);
        const ScopedReset reset(**statement);
        for (;;) {
            auto there = (*statement)->step();
            if (!there)
                return std::unexpected(std::move(there.error()));
            if (!*there)
                return true;
            if (auto made = make(**statement); !made)
                return std::unexpected(std::move(made.error()));
            cursor.row = (*statement)->integer(0);
            if (page_.lines.size() >= export_page_bytes)
                return false;
        }
    }
    void add(json::object line) {
        drop_empty(line);
        page_.lines += core::json_text(line);
        page_.lines += '\n';
        ++page_.count;
    }
    template <class Make>
    Result<void> one(const std::string& sql, std::int64_t row, Make make) {
        auto statement = database_.prepare(sql);
        if (!statement)
            return std::unexpected(std::move(statement.error()));
        (*statement)->bind(1, row);
        const ScopedReset reset(**statement);
        auto there = (*statement)->step();
        if (!there)
            return std::unexpected(std::move(there.error()));
        if (*there)
            add(make(**statement));
        return {};
    }

private:
    Database& database_;
    ExportPage& page_;
};

Result<void> add_trace_line(Database& database, Page& page, std::int64_t row, std::int64_t known) {
    auto trace = trace_at(database, row);
    if (!trace)
        return std::unexpected(std::move(trace.error()));
    if (!*trace)
        return {};
    if (row > known) { // came while the export ran: its session and episode may have, too
        if (auto done = page.one(cat("SELECT ", session_columns, " WHERE row=?1"), (*trace)->session_row,
                                 session_line);
            !done)
            return done;
        if (auto done = page.one(cat("SELECT ", episode_columns, " WHERE e.row=?1"), (*trace)->episode_row,
                                 episode_line);
            !done)
            return done;
    }
    json::object line{{"type", "trace"}};
    for (auto& member : to_json(**trace))
        line[member.key()] = std::move(member.value());
    page.add(std::move(line));
    return {};
}

json::object object_line(const char* type, const Statement& row) {
    return {{"type", type},
            {"id", row.text(1)},
            {"title", row.text(2)},
            {"body", row.text(3)},
            {"status", row.text(4)},
            {"data", parsed(row.text(5))},
            {"createdAt", row.integer(6)},
            {"updatedAt", row.integer(7)},
            {"trials", row.integer(8)}};
}

Result<bool> rows_of_kind(Database& database, Page& page, Cursor& cursor) {
    const std::string_view kind = kinds[cursor.kind];
    if (kind == "session")
        return page.rows(cat("SELECT ", session_columns, " WHERE row>?1 ORDER BY row"), cursor,
                         [&](const Statement& row) -> Result<void> {
                             return page.add(session_line(row)), Result<void>();
                         });
    if (kind == "episode")
        return page.rows(cat("SELECT ", episode_columns, " WHERE e.row>?1 ORDER BY e.row"), cursor,
                         [&](const Statement& row) -> Result<void> {
                             return page.add(episode_line(row)), Result<void>();
                         });
    if (kind == "trace")
        return page.rows("SELECT row FROM traces WHERE row>?1 ORDER BY row", cursor,
                         [&](const Statement& row) {
                             return add_trace_line(database, page, row.integer(0), cursor.known_traces);
                         });
    if (kind == "feedback")
        return page.rows("SELECT row, id, trace_id, episode_id, channel, polarity, magnitude, rationale, "
                         "raw, ts FROM feedback WHERE"
                         " row>?1 ORDER BY row",
                         cursor, [&](const Statement& row) -> Result<void> {
                             json::object line{{"type", "feedback"}};
                             for (auto& member :
                                  to_json(Feedback{row.string(1), row.string(2), row.string(3), row.string(4),
                                                   row.string(5), row.real(6), row.string(7), row.string(8),
                                                   row.integer(9)}))
                                 line[member.key()] = std::move(member.value());
                             page.add(std::move(line));
                             return {};
                         });
    const char* table = kind == "policy" ? "policies" : kind == "skill" ? "skills" : "world_models";
    return page.rows(cat("SELECT row, id, title, body, status, data, created_at, updated_at, trials FROM ",
                         table, " WHERE row>?1 ORDER BY row"),
                     cursor, [&](const Statement& row) -> Result<void> {
                         page.add(object_line(kinds[cursor.kind], row));
                         return {};
                     });
}

} // namespace

Result<ExportPage> export_page(Database& database, const std::string& text) {
    ExportPage page;
    Cursor cursor;
    if (text.empty()) {
        auto last = database.scalar("SELECT max(row) FROM traces");
        if (!last)
            return std::unexpected(std::move(last.error()));
        cursor.known_traces = *last;
    } else if (auto given = cursor_of(text)) {
        cursor = *given;
    } else {
        return fail(Errc::invalid_argument, "the cursor is not one of this export");
    }
    Page writer(database, page);
    for (;;) {
        auto finished = rows_of_kind(database, writer, cursor);
        if (!finished)
            page.trouble = std::move(finished.error());
        if (!finished || !*finished) {
            page.next = to_text(cursor);
            return page;
        }
        if (++cursor.kind == kinds.size())
            return page;
        cursor.row = 0;
    }
}

std::string step_over(Database& database, const std::string& text, std::int64_t step) {
    auto cursor = cursor_of(text);
    if (!cursor)
        return "";
    constexpr std::array tables = {"sessions", "episodes",     "traces", "feedback",
                                   "policies", "world_models", "skills"};
    static_assert(tables.size() == kinds.size());
    const auto last = database.scalar(cat("SELECT max(row) FROM ", tables[cursor->kind]));
    cursor->row += step;
    if (!last || cursor->row >= *last) {
        if (++cursor->kind == kinds.size())
            return "";
        cursor->row = 0;
    }
    return to_text(*cursor);
}

} // namespace holdfast::memory
