#include "memory/transfer/bridge.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "memory/repository/connection.hpp"
#include "memory/repository/state_row.hpp"
#include "memory/transfer/records.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <unistd.h>

namespace holdfast::memory {

using base::cat;

namespace {

enum class As { text, number, time, list, json, channel, polarity };

// A column there, the field here. Where two columns lead to one field the first that is filled gives it.
struct Mapped {
    std::string_view column;
    std::string_view field;
    As as = As::text;
};

struct Kind {
    const char* table;
    const char* type;
    const char* rest; // where columns go that are not mapped
    bool needed;
    std::span<const Mapped> columns;
};

// The columns of the bridge as its schema has them, with those that only some of its versions have; a column
// that is missing costs its own field and nothing else.
constexpr Mapped session_columns[] = {{"id", "id"},
                                      {"agent", "agent"},
                                      {"owner_agent_kind", "agent"},
                                      {"started_at", "openedAt", As::time},
                                      {"created_at", "openedAt", As::time},
                                      {"meta_json", "meta", As::json}};
constexpr Mapped episode_columns[] = {{"id", "id"},
                                      {"session_id", "sessionId"},
                                      {"started_at", "openedAt", As::time},
                                      {"created_at", "openedAt", As::time},
                                      {"ended_at", "closedAt", As::time},
                                      {"meta_json", "meta", As::json}};
constexpr Mapped trace_columns[] = {{"id", "id"},
                                    {"episode_id", "episodeId"},
                                    {"session_id", "sessionId"},
                                    {"ts", "ts", As::time},
                                    {"created_at", "ts", As::time},
                                    {"user_text", "userText"},
                                    {"agent_text", "agentText"},
                                    {"summary", "summary"},
                                    {"tool_calls_json", "toolCalls", As::list},
                                    {"tags_json", "tags", As::list},
                                    {"reflection", "reflection"},
                                    {"agent_thinking", "agentThinking"},
                                    {"value", "value", As::number},
                                    {"priority", "priority", As::number},
                                    {"turn_id", "turnId"},
                                    {"meta_json", "meta", As::json}};
constexpr Mapped feedback_columns[] = {{"id", "id"},
                                       {"ts", "ts", As::time},
                                       {"created_at", "ts", As::time},
                                       {"trace_id", "traceId"},
                                       {"episode_id", "episodeId"},
                                       {"channel", "channel", As::channel},
                                       {"polarity", "polarity", As::polarity},
                                       {"magnitude", "magnitude", As::number},
                                       {"rationale", "rationale"},
                                       {"raw_json", "raw", As::json}};
constexpr Mapped policy_columns[] = {{"id", "id"},
                                     {"title", "title"},
                                     {"procedure", "body"},
                                     {"status", "status"},
                                     {"created_at", "createdAt", As::time},
                                     {"updated_at", "updatedAt", As::time}};
constexpr Mapped world_columns[] = {{"id", "id"},
                                    {"title", "title"},
                                    {"body", "body"},
                                    {"status", "status"},
                                    {"created_at", "createdAt", As::time},
                                    {"updated_at", "updatedAt", As::time}};
constexpr Mapped skill_columns[] = {{"id", "id"},
                                    {"name", "title"},
                                    {"invocation_guide", "body"},
                                    {"status", "status"},
                                    {"trials_attempted", "trials", As::number},
                                    {"created_at", "createdAt", As::time},
                                    {"updated_at", "updatedAt", As::time}};

// Sessions and episodes that are only named by a trace are made, so the traces are all that is needed.
constexpr Kind kinds[] = {
    {"sessions", "session", "meta", false, session_columns},
    {"episodes", "episode", "meta", false, episode_columns},
    {"traces", "trace", "meta", true, trace_columns},
    {"feedback", "feedback", "raw", false, feedback_columns},
    {"policies", "policy", "data", false, policy_columns},
    {"world_model", "worldModel", "data", false, world_columns},
    {"skills", "skill", "data", false, skill_columns},
};

struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
};
using Rows = std::unique_ptr<sqlite3_stmt, Finalize>;

// Of a database in UTF-16, too: asked for as text, it is turned into UTF-8. Bytes come as they are.
std::string_view text_of(sqlite3_stmt* row, int column) {
    const auto* text = ::sqlite3_column_type(row, column) == SQLITE_BLOB
                           ? static_cast<const char*>(::sqlite3_column_blob(row, column))
                           : reinterpret_cast<const char*>(::sqlite3_column_text(row, column));
    return text == nullptr
               ? std::string_view()
               : std::string_view(text, static_cast<std::size_t>(::sqlite3_column_bytes(row, column)));
}

json::value parsed(std::string_view text) {
    auto value = json::parse(text);
    return value ? std::move(*value) : json::value(base::as_utf8(std::string(text)));
}

// `bytes_are_text`: in a column that has its place here. Elsewhere they are vectors, and left out.
json::value value_of(sqlite3_stmt* row, int column, bool as_json, bool bytes_are_text) {
    switch (::sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        return static_cast<std::int64_t>(::sqlite3_column_int64(row, column));
    case SQLITE_FLOAT:
        if (const double real = ::sqlite3_column_double(row, column); std::isfinite(real))
            return real;
        return json::value(text_of(row, column)); // JSON has no number for it: "Inf"
    case SQLITE_BLOB:
        if (!bytes_are_text)
            return nullptr;
        [[fallthrough]];
    case SQLITE_TEXT:
        return as_json ? parsed(text_of(row, column))
                       : json::value(base::as_utf8(std::string(text_of(row, column))));
    default:
        return nullptr;
    }
}

// Milliseconds, or the text of a date; nothing for what can be neither.
std::optional<json::value> time_of(const json::value& value) {
    if (value.is_number()) {
        const auto number = value.to_number<double>();
        return number >= 0 && number <= 9e15 ? std::optional(value) : std::nullopt;
    }
    const auto* text = value.if_string();
    if (text == nullptr)
        return std::nullopt;
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (failed != std::errc{} || number < 0)
        return std::nullopt;
    if (end == text->data() + text->size())
        return json::value(number);
    return *end == '-' ? std::optional(value) : std::nullopt;
}

// Into what the field has to be here. Nothing: this value cannot be that, and stays among the rest.
std::optional<json::value> fitted(const json::value& value, As as) {
    switch (as) {
    case As::text:
        return value.is_string() ? value : json::value(json::to_text(value));
    case As::number:
        return value.is_number() ? std::optional(value) : std::nullopt;
    case As::time:
        return time_of(value);
    case As::list:
        return value.is_array() ? std::optional(value) : std::nullopt;
    case As::json:
        return value;
    case As::channel:
        return value == "explicit" || value == "implicit" ? std::optional(value) : std::nullopt;
    case As::polarity:
        return value == "positive" || value == "negative" || value == "neutral" ? std::optional(value)
                                                                                : std::nullopt;
    }
    return std::nullopt;
}

// A number outside the range that it has here: it is cut, so what it was is kept as well.
bool out_of_range(std::string_view name, const json::value& value) {
    if ((name != "value" && name != "priority") || !value.is_number())
        return false;
    const auto real = value.to_number<double>();
    return real > 1 || real < (name == "value" ? -1.0 : 0.0);
}

// What the bridge always says and a row without it cannot be stored.
void fill_gaps(json::object& line, std::string_view type) {
    if (type == "feedback") {
        line.emplace("channel", "implicit");
        line.emplace("polarity", "neutral");
    }
    // What is nameless there has an id at least.
    if ((type == "policy" || type == "worldModel" || type == "skill") &&
        (!line.contains("title") || line["title"] == ""))
        line["title"] = line["id"];
}

json::object line_of(sqlite3_stmt* row, const Kind& kind) {
    json::object rest;
    for (int column = 0; column < ::sqlite3_column_count(row); ++column) {
        const std::string_view name = ::sqlite3_column_name(row, column);
        const auto mapped = std::ranges::find(kind.columns, name, &Mapped::column);
        const bool is_json = mapped != kind.columns.end() ? mapped->as == As::json || mapped->as == As::list
                                                          : name.ends_with("_json");
        if (auto value = value_of(row, column, is_json, mapped != kind.columns.end()); !value.is_null())
            rest[name] = std::move(value);
    }
    json::object line{{"type", kind.type}};
    for (const auto& mapped : kind.columns) {
        const auto* value = rest.if_contains(mapped.column);
        auto field =
            value != nullptr && !line.contains(mapped.field) ? fitted(*value, mapped.as) : std::nullopt;
        if (!field)
            continue;
        if (!out_of_range(mapped.column, *value))
            rest.stable_erase(rest.find(mapped.column));
        line[mapped.field] = std::move(*field);
    }
    if (!rest.empty()) {
        json::object all;
        if (auto* there = line.if_contains(kind.rest); there != nullptr && there->is_object())
            all = std::move(there->get_object());
        else if (there != nullptr)
            all["value"] = std::move(*there);
        all["bridge"] = std::move(rest);
        line[kind.rest] = std::move(all);
    }
    fill_gaps(line, kind.type);
    return line;
}

Result<Rows> rows_of(Database& database, const std::string& path, const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    const int code = ::sqlite3_prepare_v2(database.raw(), sql.c_str(), -1, &raw, nullptr);
    if (code != SQLITE_OK)
        return std::unexpected(database::describe(database.raw(), path, code));
    return Rows(raw);
}

Result<bool> has_table(Database& database, const std::string& path, const char* table) {
    auto rows =
        rows_of(database, path, cat("SELECT 1 FROM sqlite_schema WHERE type='table' AND name='", table, "'"));
    if (!rows)
        return std::unexpected(std::move(rows.error()));
    const int code = ::sqlite3_step(rows->get());
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return std::unexpected(database::describe(database.raw(), path, code));
    return code == SQLITE_ROW;
}

Result<std::int64_t> total_of(Database& database, const std::string& path) {
    std::int64_t total = 0;
    for (const auto& kind : kinds) {
        auto there = has_table(database, path, kind.table);
        if (!there)
            return std::unexpected(std::move(there.error()));
        if (!*there) {
            if (kind.needed)
                return fail(Errc::invalid_argument, cat(path, " has no table \"", kind.table,
                                                        "\": it is not the database of a memory bridge"));
            continue;
        }
        auto count = database.scalar(cat("SELECT count(*) FROM ", kind.table));
        if (!count)
            return std::unexpected(std::move(count.error()));
        total += *count;
    }
    return total;
}

// A store of our own, perhaps a damaged one that was kept aside: everything that can still be read.
Result<void> read_own_store(Database& database, const std::string& path,
                            const std::function<bool(std::string_view)>& take) {
    const auto state = read_state(database);
    const auto stored = state ? state->totals : Totals{};
    const auto total = stored.sessions + stored.episodes + stored.traces + stored.feedback + stored.objects;
    if (!take(json::to_text(json::object{{"type", "lines"}, {"total", total}})))
        return {};
    std::string cursor;
    std::vector<DamagedRows> damaged;
    do {
        auto page = export_page(database, cursor, OnDamage::leave_out);
        if (!page)
            return std::unexpected(std::move(page.error()));
        if (page->trouble)
            return std::unexpected(std::move(*page->trouble));
        for (std::string_view lines = page->lines; !lines.empty();) {
            const auto end = lines.find('\n');
            if (!take(lines.substr(0, end)))
                return {};
            lines.remove_prefix(end + 1);
        }
        damaged.insert(damaged.end(), page->damaged.begin(), page->damaged.end());
        cursor = page->next;
    } while (!cursor.empty());
    if (damaged.empty())
        return {};
    constexpr std::size_t most_named = 1000;
    std::string named;
    for (std::size_t i = 0; i < damaged.size() && i < most_named; ++i)
        named += cat("; ", in_words(damaged[i]));
    if (damaged.size() > most_named)
        named += cat("; and ", damaged.size() - most_named, " more");
    return fail(Errc::io, cat(path, " is damaged; what can be read was read", named), EUCLEAN);
}

// Everything that is read from it is of this moment. A database whose program is not running, on a disk or in
// a folder where we may not write, has no log that would have to be read with it, and is read as it lies
// there.
Result<Database> open_at_one_moment(const std::string& path) {
    const auto open = [&](OpenMode mode, const char* first = nullptr) -> Result<Database> {
        auto database = open_database(path, mode);
        if (!database)
            return database;
        if (first != nullptr)
            if (auto set = database->exec(first); !set)
                return std::unexpected(std::move(set.error()));
        if (auto begun = database->exec("BEGIN; SELECT count(*) FROM sqlite_schema"); !begun)
            return std::unexpected(std::move(begun.error()));
        return database;
    };
    auto database = open(OpenMode::read_only);
    if (database)
        return database;
    if (is_corrupt(database.error())) {
        // A file that was cut off has fewer pages than it says. With this SQLite reads those that are there;
        // nothing is written, since the database is open for reading only.
        auto rest = open(OpenMode::read_only, "PRAGMA writable_schema=ON");
        return rest ? std::move(rest) : std::move(database);
    }
    struct stat log{};
    if (::stat(cat(path, "-wal").c_str(), &log) == 0 && log.st_size > 0)
        return fail(database.error().code,
                    cat(database.error().message, ". It has a log, ", path,
                        "-wal, that can only be read where files may be written: copy both into a folder of "
                        "yours, and "
                        "import it from there"),
                    database.error().sys);
    return open(OpenMode::read_only_still);
}

} // namespace

Result<void> read_bridge(const std::string& path, const std::function<bool(std::string_view)>& take) {
    if (::access(path.c_str(), R_OK) != 0)
        return fail(Errc::not_found, cat(path, " cannot be read"), errno);
    auto database = open_at_one_moment(path);
    if (!database)
        return std::unexpected(std::move(database.error()));
    if (auto own = has_table(*database, path, "traces_words"); own && *own)
        return read_own_store(*database, path, take);
    auto total = total_of(*database, path);
    if (!total)
        return std::unexpected(std::move(total.error()));
    if (!take(json::to_text(json::object{{"type", "lines"}, {"total", *total}})))
        return {};
    for (const auto& kind : kinds) {
        auto there = has_table(*database, path, kind.table);
        if (!there)
            return std::unexpected(std::move(there.error()));
        if (!*there)
            continue;
        auto rows = rows_of(*database, path, cat("SELECT * FROM ", kind.table, " ORDER BY rowid"));
        if (!rows) // a table WITHOUT ROWID has its own order
            rows = rows_of(*database, path, cat("SELECT * FROM ", kind.table));
        if (!rows)
            return std::unexpected(std::move(rows.error()));
        for (;;) {
            const int code = ::sqlite3_step(rows->get());
            if (code == SQLITE_DONE)
                break;
            if (code != SQLITE_ROW)
                return std::unexpected(
                    database::describe(database->raw(), cat(path, ", table ", kind.table), code));
            if (!take(json::to_text(line_of(rows->get(), kind))))
                return {};
        }
    }
    return {};
}

} // namespace holdfast::memory
