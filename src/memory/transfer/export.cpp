// The store into lines.
#include "base/utf8.hpp"
#include "memory/store/values_json.hpp"
#include "memory/transfer/records.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "memory/store/damage.hpp"
#include "memory/store/rows.hpp"
#include "sys/errors.hpp"
#include "sys/whole_file.hpp"

#include <array>
#include <charconv>

namespace holdfast::memory {

using base::cat;

namespace {

// One kind of line after the other, each by its rows. What a line needs stands before it.
constexpr std::array kinds = {"session", "episode", "trace", "feedback", "policy", "worldModel", "skill"};
static_assert(kinds.size() == stored_tables.size());

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
    return json::parse(text).value_or(json::value(text));
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

// What SQLite says of damage, and of a log that was cut; not what is around it (no memory, a lock).
bool is_damage(const Error& error) {
    return error.code == Errc::io;
}

constexpr const char* not_utf8 = "bytes that are not UTF-8 were replaced by U+FFFD";

class Page {
public:
    Page(Database& database, ExportPage& page, OnDamage on_damage)
        : database_(database)
        , page_(page)
        , on_damage_(on_damage) {}

    [[nodiscard]] bool leaves_out() const noexcept { return on_damage_ == OnDamage::leave_out; }

    // Rows of `sql` (first column: the row; from parameter 1 on) after the cursor, each through `make`, until
    // there are no more (true) or the page is full (false).
    template <class Make>
    Result<bool> rows(const std::string& sql, Cursor& cursor, Make make) {
        const auto* table = stored_tables.at(cursor.kind);
        auto statement = database_.prepare(sql);
        if (!statement)
            return std::unexpected(std::move(statement.error()));
        for (;;) {
            (*statement)->bind(1, cursor.row + 1);
            const ScopedReset reset(**statement);
            std::int64_t misplaced = 0; // rows behind the cursor
            for (;;) {
                auto there = (*statement)->step();
                if (!there) {
                    if (!leaves_out() || !is_damage(there.error()))
                        return std::unexpected(std::move(there.error()));
                    const auto why = there.error().message;
                    const auto last =
                        last_unreadable(database_, **statement, cursor.row, top_row(database_, table));
                    name(cursor.kind, {"", cursor.row + 1, last, true, why});
                    if (last == none_after)
                        return true;
                    cursor.row = last;
                    break; // and from there again
                }
                if (!*there)
                    return true;
                const auto row = (*statement)->integer(0);
                if (!is_in_order(database_, table, cursor.row, misplaced, row)) {
                    if (!leaves_out())
                        return std::unexpected(not_in_order());
                    const auto place = cursor.row + ++misplaced;
                    name(cursor.kind, {"", place, place, true, not_in_order().message});
                    continue;
                }
                misplaced = 0;
                if (auto made = make(**statement); !made) {
                    if (!leaves_out() || !is_damage(made.error()))
                        return std::unexpected(std::move(made.error()));
                    name(cursor.kind, {"", row, row, true, made.error().message});
                }
                cursor.row = row;
                if (page_.lines.size() >= export_page_bytes)
                    return false;
            }
        }
    }
    // A line that is whole, and that an import takes.
    Result<void> add(std::size_t kind, std::int64_t row, json::object line) {
        drop_empty(line);
        auto text = json::to_text(line);
        bool changed = false;
        if (!base::is_utf8(text)) {
            if (!leaves_out())
                return damaged(kind, row, "it has bytes that are not UTF-8");
            name(kind, {"", row, row, false, not_utf8});
            text = base::as_utf8(std::move(text));
            if (auto mended = json::parse_object(text, {}))
                line = std::move(*mended);
            changed = true;
        }
        auto reason = reason_to_refuse(line);
        // An id can be made anew, and a list be done without; what was said cannot.
        for (const auto& without : {std::array{"id", "turnId"}, std::array{"tags", "toolCalls"}}) {
            if (reason.empty() || !leaves_out())
                break;
            for (const char* member : without)
                line.erase(member);
            name(kind, {"", row, row, false, reason});
            reason = reason_to_refuse(line);
            changed = true;
        }
        if (!reason.empty())
            return damaged(kind, row, reason);
        page_.lines += changed ? json::to_text(line) : text;
        page_.lines += '\n';
        ++page_.count;
        return {};
    }
    template <class Make>
    Result<void> one(std::size_t kind, const std::string& sql, std::int64_t row, Make make) {
        auto statement = database_.prepare(sql);
        if (!statement)
            return std::unexpected(std::move(statement.error()));
        (*statement)->bind(1, row);
        const ScopedReset reset(**statement);
        auto there = (*statement)->step();
        if (!there)
            return std::unexpected(std::move(there.error()));
        if (*there)
            return add(kind, row, make(**statement));
        return {};
    }
    void name(std::size_t kind, DamagedRows rows) {
        rows.table = stored_tables.at(kind);
        auto& known = page_.damaged;
        if (!known.empty() && known.back().table == rows.table && known.back().last + 1 == rows.first &&
            known.back().left_out == rows.left_out && known.back().why == rows.why)
            known.back().last = rows.last;
        else
            known.push_back(std::move(rows));
    }

private:
    static Result<void> damaged(std::size_t kind, std::int64_t row, std::string_view why) {
        return fail(Errc::io, cat("table ", stored_tables.at(kind), ", row ", row, ": ", why), EUCLEAN);
    }
    Database& database_;
    ExportPage& page_;
    OnDamage on_damage_;
};

constexpr std::size_t session_kind = 0;
constexpr std::size_t episode_kind = 1;
constexpr std::size_t trace_kind = 2;
constexpr std::size_t feedback_kind = 3;

// A trace whose session or episode cannot be read, without them.
Result<std::optional<Trace>> readable_trace(Database& database, Page& page, std::int64_t row) {
    auto trace = trace_at(database, row);
    if (!page.leaves_out() || (trace && *trace) || (!trace && !is_damage(trace.error())))
        return trace;
    auto alone = trace_alone_at(database, row);
    if (alone && *alone)
        page.name(trace_kind,
                  {"", row, row, false, "its session or its episode cannot be read, and is left out"});
    return alone;
}

Result<void> add_trace_line(Database& database, Page& page, std::int64_t row, std::int64_t known) {
    auto trace = readable_trace(database, page, row);
    if (!trace)
        return std::unexpected(std::move(trace.error()));
    // The scan has just given its number, in this very transaction.
    if (!*trace && page.leaves_out())
        return fail(Errc::io, "it is not found by its number", EUCLEAN);
    if (!*trace)
        return {};
    if (row > known) { // came while the export ran: its session and episode may have, too
        auto done = page.one(session_kind, cat("SELECT ", session_columns, " WHERE row=?1"),
                             (*trace)->session_row, session_line);
        if (done)
            done = page.one(episode_kind, cat("SELECT ", episode_columns, " WHERE e.row=?1"),
                            (*trace)->episode_row, episode_line);
        if (!done && !page.leaves_out())
            return done;
    }
    json::object line{{"type", "trace"}};
    for (auto& member : to_json(**trace))
        line[member.key()] = std::move(member.value());
    if ((*trace)->session_id.empty())
        line.erase("sessionId");
    if ((*trace)->episode_id.empty())
        line.erase("episodeId");
    return page.add(trace_kind, row, std::move(line));
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

json::object feedback_line(const Statement& row) {
    json::object line{{"type", "feedback"}};
    for (auto& member :
         to_json(Feedback{row.string(1), row.string(2), row.string(3), row.string(4), row.string(5),
                          row.real(6), row.string(7), row.string(8), row.integer(9)}))
        line[member.key()] = std::move(member.value());
    return line;
}

// What the lines of a kind are made of; `which` is a condition on its rows.
std::string columns_of(std::size_t kind, std::string_view which) {
    if (kind == session_kind)
        return cat("SELECT ", session_columns, " WHERE ", which);
    if (kind == feedback_kind)
        return cat("SELECT row, id, trace_id, episode_id, channel, polarity, magnitude, rationale, raw, ts"
                   " FROM feedback WHERE ",
                   which);
    return cat("SELECT row, id, title, body, status, data, created_at, updated_at, trials FROM ",
               stored_tables.at(kind), " WHERE ", which);
}

json::object line_of(std::size_t kind, const Statement& row) {
    return kind == session_kind    ? session_line(row)
           : kind == feedback_kind ? feedback_line(row)
                                   : object_line(kinds.at(kind), row);
}

constexpr std::string_view from_row = "row>=?1 ORDER BY row";

// One by one where others are read with it: where the session of an episode cannot be, the next episode can.
Result<void> one_of_kind(Database& database, Page& page, std::size_t kind, std::int64_t row,
                         std::int64_t known_traces = none_after) {
    if (kind == trace_kind)
        return add_trace_line(database, page, row, known_traces);
    if (kind == episode_kind)
        return page.one(kind, cat("SELECT ", episode_columns, " WHERE e.row=?1"), row, episode_line);
    return page.one(kind, columns_of(kind, "row=?1"), row,
                    [kind](const Statement& there) { return line_of(kind, there); });
}

Result<bool> rows_of_kind(Database& database, Page& page, Cursor& cursor) {
    const auto kind = cursor.kind;
    if (kind == episode_kind || kind == trace_kind)
        return page.rows(cat("SELECT row FROM ", stored_tables.at(kind), " WHERE ", from_row), cursor,
                         [&](const Statement& row) {
                             return one_of_kind(database, page, kind, row.integer(0), cursor.known_traces);
                         });
    return page.rows(columns_of(kind, from_row), cursor, [&](const Statement& row) {
        return page.add(kind, row.integer(0), line_of(kind, row));
    });
}

} // namespace

std::string in_words(const DamagedRows& rows) {
    return cat("table ", rows.table,
               rows.last >= none_after   ? cat(", rows from ", rows.first, " on")
               : rows.first == rows.last ? cat(", row ", rows.first)
                                         : cat(", rows ", rows.first, " to ", rows.last),
               rows.left_out ? ": not exported (" : ": exported, but (", rows.why, ')');
}

Result<ExportPage> export_page(Database& database, const std::string& text, OnDamage on_damage) {
    ExportPage page;
    Cursor cursor;
    if (text.empty()) {
        auto last = database.scalar("SELECT max(row) FROM traces");
        if (!last && (on_damage == OnDamage::stop || !is_damage(last.error())))
            return std::unexpected(std::move(last.error()));
        cursor.known_traces = last.value_or(none_after);
    } else if (auto given = cursor_of(text)) {
        cursor = *given;
    } else {
        return fail(Errc::invalid_argument, "the cursor is not one of this export");
    }
    Page writer(database, page, on_damage);
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

Result<SavedRows> save_unsaved(Database& database, const Unsaved& unsaved, int fd) {
    ExportPage page;
    Page writer(database, page, OnDamage::leave_out);
    const auto flush = [&] {
        auto written = sys::write_whole_text(fd, page.lines);
        page.lines.clear();
        return written;
    };
    for (const auto& id : unsaved.forgotten()) {
        const auto there = find_trace(database, id);
        if (there && *there)
            continue; // brought in again since: it is one of the rows
        page.lines += cat(json::to_text(json::object{{"type", "forget"}, {"id", id}}), '\n');
        ++page.count;
    }
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        // What an episode or a trace stands in was there before, or comes before it.
        for (const auto row : unsaved.changed(kind)) {
            if (auto some = one_of_kind(database, writer, kind, row); !some)
                writer.name(kind, {"", row, row, true, some.error().message});
            if (page.lines.size() >= export_page_bytes)
                if (auto written = flush(); !written)
                    return std::unexpected(std::move(written.error()));
        }
        Cursor cursor{kind, unsaved.mark(kind), none_after};
        for (bool finished = false; !finished;) {
            auto some = rows_of_kind(database, writer, cursor);
            if (!some)
                return std::unexpected(std::move(some.error()));
            finished = *some;
            if (auto written = flush(); !written)
                return std::unexpected(std::move(written.error()));
        }
    }
    return SavedRows{page.count};
}

} // namespace holdfast::memory
