// The store into lines.
#include "memory/transfer/records.hpp"
#include "memory/transfer/values_json.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "memory/repository/damage.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/stored_rows.hpp"
#include "sys/errors.hpp"
#include "sys/whole_file.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

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

void drop_empty(json::object& line) {
    for (auto member = line.begin(); member != line.end();)
        member = member->value().is_null() ? line.stable_erase(member) : member + 1;
}

json::object line_of(const Session& session) {
    return {{"type", "session"},
            {"id", session.id},
            {"agent", session.agent},
            {"namespace", parsed(session.name_space)},
            {"meta", parsed(session.meta)},
            {"openedAt", session.opened_at},
            {"closedAt", time_or_null(session.closed_at)}};
}

json::object line_of(const Episode& episode) {
    json::object line{{"type", "episode"},
                      {"id", episode.id},
                      {"sessionId", episode.session_id},
                      {"openedAt", episode.opened_at},
                      {"closedAt", time_or_null(episode.closed_at)}};
    if (!episode.pending_user.empty())
        line["pendingUser"] = episode.pending_user;
    if (!episode.turn_key.empty())
        line["turnKey"] = episode.turn_key;
    line["meta"] = parsed(episode.meta);
    return line;
}

json::object line_of(const Feedback& feedback) {
    json::object line{{"type", "feedback"}};
    for (auto& member : to_json(feedback))
        line[member.key()] = std::move(member.value());
    return line;
}

json::object line_of(const StoredObject& object) {
    const char* type = object.kind == ObjectKind::policy        ? "policy"
                       : object.kind == ObjectKind::world_model ? "worldModel"
                                                                : "skill";
    return {{"type", type},
            {"id", object.id},
            {"title", object.title},
            {"body", object.body},
            {"status", object.status},
            {"data", parsed(object.data)},
            {"createdAt", object.created_at},
            {"updatedAt", object.updated_at},
            {"trials", object.trials}};
}

json::object line_of(const StoredRow& row) {
    return std::visit([](const auto& value) { return line_of(value); }, row);
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

    // The rows of a table after the cursor, each through `make`, until there are no more (true) or the page
    // is full (false).
    template <class Make>
    Result<bool> rows(Cursor& cursor, Make make) {
        for (;;) {
            Result<void> made;
            std::int64_t misplaced = 0; // rows behind the cursor
            auto done = visit_rows(
                database_, cursor.kind, cursor.row + 1, [&](std::int64_t row, const StoredRow* content) {
                    if (!is_in_order(database_, stored_tables.at(cursor.kind), cursor.row, misplaced, row)) {
                        if (!leaves_out()) {
                            made = std::unexpected(not_in_order());
                            return false;
                        }
                        const auto place = cursor.row + ++misplaced;
                        name(cursor.kind, {"", place, place, true, not_in_order().message});
                        return true;
                    }
                    misplaced = 0;
                    made = make(row, content);
                    if (!made && (!leaves_out() || !is_damage(made.error())))
                        return false;
                    if (!made)
                        name(cursor.kind, {"", row, row, true, made.error().message});
                    made = {};
                    cursor.row = row;
                    return page_.lines.size() < export_page_bytes;
                });
            if (!made)
                return std::unexpected(std::move(made.error()));
            if (done)
                return done;
            if (!leaves_out() || !is_damage(done.error()))
                return done;
            const auto last = last_unreadable_row(database_, cursor.kind, cursor.row);
            if (!last)
                return std::unexpected(last.error());
            name(cursor.kind, {"", cursor.row + 1, *last, true, done.error().message});
            if (*last == none_after)
                return true;
            cursor.row = *last; // and from there again
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
    // The line of one row, when it is there.
    Result<void> one(std::size_t kind, std::int64_t row) {
        auto there = stored_row(database_, kind, row);
        if (!there)
            return std::unexpected(std::move(there.error()));
        return *there ? add(kind, row, line_of(**there)) : Result<void>();
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

// A trace whose session or episode cannot be read, without them.
Result<std::optional<Trace>> readable_trace(Database& database, Page& page, std::int64_t row) {
    auto trace = trace_at(database, row);
    if (!page.leaves_out() || (trace && *trace) || (!trace && !is_damage(trace.error())))
        return trace;
    auto alone = trace_alone_at(database, row);
    if (alone && *alone)
        page.name(traces_table,
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
        auto done = page.one(sessions_table, (*trace)->session_row);
        if (done)
            done = page.one(episodes_table, (*trace)->episode_row);
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
    return page.add(traces_table, row, std::move(line));
}

Result<void> one_of_kind(Database& database, Page& page, std::size_t kind, std::int64_t row,
                         std::int64_t known_traces = none_after) {
    return kind == traces_table ? add_trace_line(database, page, row, known_traces) : page.one(kind, row);
}

Result<bool> rows_of_kind(Database& database, Page& page, Cursor& cursor) {
    const auto kind = cursor.kind;
    return page.rows(cursor, [&, kind](std::int64_t row, const StoredRow* content) {
        return content != nullptr ? page.add(kind, row, line_of(*content))
                                  : one_of_kind(database, page, kind, row, cursor.known_traces);
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
        auto last = last_trace_row(database);
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
