#include "memory/transfer/bridge.hpp"

#include "core/text.hpp"
#include "memory/store/sqlite.hpp"
#include "memory/transfer/records.hpp"

#include <boost/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <unistd.h>

namespace holdfast::memory {

using core::cat;
namespace json = boost::json;

namespace {

enum class As { text, number, json };

// A column there, the field here.
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

constexpr Mapped session_columns[] = {{"id", "id"},
                                      {"agent", "agent"},
                                      {"started_at", "openedAt", As::number},
                                      {"meta_json", "meta", As::json}};
constexpr Mapped episode_columns[] = {{"id", "id"},
                                      {"session_id", "sessionId"},
                                      {"started_at", "openedAt", As::number},
                                      {"ended_at", "closedAt", As::number},
                                      {"meta_json", "meta", As::json}};
constexpr Mapped trace_columns[] = {{"id", "id"},
                                    {"episode_id", "episodeId"},
                                    {"session_id", "sessionId"},
                                    {"ts", "ts", As::number},
                                    {"user_text", "userText"},
                                    {"agent_text", "agentText"},
                                    {"summary", "summary"},
                                    {"tool_calls_json", "toolCalls", As::json},
                                    {"tags_json", "tags", As::json},
                                    {"reflection", "reflection"},
                                    {"agent_thinking", "agentThinking"},
                                    {"value", "value", As::number},
                                    {"priority", "priority", As::number},
                                    {"turn_id", "turnId", As::number},
                                    {"meta_json", "meta", As::json}};
constexpr Mapped feedback_columns[] = {{"id", "id"},
                                       {"ts", "ts", As::number},
                                       {"trace_id", "traceId"},
                                       {"episode_id", "episodeId"},
                                       {"channel", "channel"},
                                       {"polarity", "polarity"},
                                       {"magnitude", "magnitude", As::number},
                                       {"rationale", "rationale"},
                                       {"raw_json", "raw", As::json}};
constexpr Mapped policy_columns[] = {{"id", "id"},
                                     {"title", "title"},
                                     {"procedure", "body"},
                                     {"status", "status"},
                                     {"created_at", "createdAt", As::number},
                                     {"updated_at", "updatedAt", As::number}};
constexpr Mapped world_columns[] = {{"id", "id"},
                                    {"title", "title"},
                                    {"body", "body"},
                                    {"status", "status"},
                                    {"created_at", "createdAt", As::number},
                                    {"updated_at", "updatedAt", As::number}};
constexpr Mapped skill_columns[] = {{"id", "id"},
                                    {"name", "title"},
                                    {"invocation_guide", "body"},
                                    {"status", "status"},
                                    {"trials_attempted", "trials", As::number},
                                    {"created_at", "createdAt", As::number},
                                    {"updated_at", "updatedAt", As::number}};

constexpr Kind kinds[] = {
    {"sessions", "session", "meta", true, session_columns},
    {"episodes", "episode", "meta", true, episode_columns},
    {"traces", "trace", "meta", true, trace_columns},
    {"feedback", "feedback", "raw", false, feedback_columns},
    {"policies", "policy", "data", false, policy_columns},
    {"world_model", "worldModel", "data", false, world_columns},
    {"skills", "skill", "data", false, skill_columns},
};

// Bytes that are not UTF-8 become U+FFFD: the line stays readable, and everything else of it is kept.
std::string as_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const std::size_t length = byte < 0x80             ? 1
                                   : (byte & 0xe0) == 0xc0 ? 2
                                   : (byte & 0xf0) == 0xe0 ? 3
                                   : (byte & 0xf8) == 0xf0 ? 4
                                                           : 0;
        bool sound = length != 0 && at + length <= text.size();
        char32_t point = length == 1 ? byte : length == 0 ? 0 : byte & (0x7fU >> length);
        for (std::size_t i = 1; sound && i < length; ++i) {
            const auto next = static_cast<unsigned char>(text[at + i]);
            sound = (next & 0xc0) == 0x80;
            point = (point << 6U) | (next & 0x3fU);
        }
        constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        sound = sound && point >= least[length] && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
        if (sound) {
            out += text.substr(at, length);
            at += length;
        } else {
            out += "\xef\xbf\xbd";
            ++at;
        }
    }
    return out;
}

struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
};
using Rows = std::unique_ptr<sqlite3_stmt, Finalize>;

std::string_view text_of(sqlite3_stmt* row, int column) {
    const auto* text = static_cast<const char*>(::sqlite3_column_blob(row, column));
    return text == nullptr
               ? std::string_view()
               : std::string_view(text, static_cast<std::size_t>(::sqlite3_column_bytes(row, column)));
}

json::value parsed(std::string_view text) {
    boost::system::error_code failed;
    auto value = json::parse(text, failed, {}, json::parse_options{.max_depth = 200});
    return failed ? json::value(as_utf8(text)) : value;
}

json::value value_of(sqlite3_stmt* row, int column, As as) {
    switch (::sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        return static_cast<std::int64_t>(::sqlite3_column_int64(row, column));
    case SQLITE_FLOAT:
        return ::sqlite3_column_double(row, column);
    case SQLITE_TEXT:
        return as == As::json ? parsed(text_of(row, column)) : json::value(as_utf8(text_of(row, column)));
    default:
        return nullptr; // NULL, or a blob: those are vectors
    }
}

// A number outside the range that it has here: it is cut, so what it was is kept as well.
bool out_of_range(std::string_view name, const json::value& value) {
    if ((name != "value" && name != "priority") || !value.is_number())
        return false;
    const auto real = value.to_number<double>();
    return real > 1 || real < (name == "value" ? -1.0 : 0.0);
}

json::object line_of(sqlite3_stmt* row, const Kind& kind) {
    json::object line{{"type", kind.type}};
    json::object rest;
    for (int column = 0; column < ::sqlite3_column_count(row); ++column) {
        const std::string_view name = ::sqlite3_column_name(row, column);
        const auto mapped = std::ranges::find(kind.columns, name, &Mapped::column);
        const bool known = mapped != kind.columns.end();
        auto value = value_of(row, column,
                              known                     ? mapped->as
                              : name.ends_with("_json") ? As::json
                                                        : As::text);
        if (value.is_null())
            continue;
        if (!known || out_of_range(name, value))
            rest[name] = value;
        if (known)
            line[mapped->field] = std::move(value);
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
    // What is nameless there has an id at least.
    for (const char* name : {"policy", "worldModel", "skill"})
        if (kind.type == std::string_view(name) && (!line.contains("title") || line["title"] == ""))
            line["title"] = line["id"];
    return line;
}

Result<Rows> rows_of(Database& database, const std::string& path, const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    const int code = ::sqlite3_prepare_v2(database.raw(), sql.c_str(), -1, &raw, nullptr);
    if (code != SQLITE_OK)
        return std::unexpected(database.error(path, code));
    return Rows(raw);
}

Result<bool> has_table(Database& database, const std::string& path, const char* table) {
    auto rows =
        rows_of(database, path, cat("SELECT 1 FROM sqlite_schema WHERE type='table' AND name='", table, "'"));
    if (!rows)
        return std::unexpected(std::move(rows.error()));
    const int code = ::sqlite3_step(rows->get());
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return std::unexpected(database.error(path, code));
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
    const auto total = database.scalar("SELECT sessions+episodes+traces+feedback+objects FROM state");
    if (!take(json::serialize(json::object{{"type", "lines"}, {"total", total.value_or(0)}})))
        return {};
    std::string cursor;
    std::int64_t step = 1;
    std::optional<Error> first_trouble;
    do {
        auto page = export_page(database, cursor);
        if (!page)
            return std::unexpected(std::move(page.error()));
        for (std::string_view lines = page->lines; !lines.empty();) {
            const auto end = lines.find('\n');
            if (!take(lines.substr(0, end)))
                return {};
            lines.remove_prefix(end + 1);
        }
        step = page->lines.empty() ? step * 2 : 1; // damage is a page or more: many rows beside each other
        cursor = page->trouble ? step_over(database, page->next, step) : page->next;
        if (page->trouble && !first_trouble)
            first_trouble = std::move(page->trouble);
    } while (!cursor.empty());
    if (first_trouble)
        return fail(Errc::io,
                    cat(path, " is damaged (", first_trouble->message, "); what can be read was read"));
    return {};
}

} // namespace

Result<void> read_bridge(const std::string& path, const std::function<bool(std::string_view)>& take) {
    if (::access(path.c_str(), R_OK) != 0)
        return fail(Errc::not_found, cat(path, " cannot be read"), errno);
    auto database = Database::open(path, OpenMode::read_only);
    if (!database)
        return std::unexpected(std::move(database.error()));
    if (auto begun = database->exec("BEGIN"); !begun)
        return begun;
    if (auto own = has_table(*database, path, "traces_words"); own && *own)
        return read_own_store(*database, path, take);
    auto total = total_of(*database, path);
    if (!total)
        return std::unexpected(std::move(total.error()));
    if (!take(json::serialize(json::object{{"type", "lines"}, {"total", *total}})))
        return {};
    for (const auto& kind : kinds) {
        auto there = has_table(*database, path, kind.table);
        if (!there)
            return std::unexpected(std::move(there.error()));
        if (!*there)
            continue;
        auto rows = rows_of(*database, path, cat("SELECT * FROM ", kind.table, " ORDER BY rowid"));
        if (!rows)
            return std::unexpected(std::move(rows.error()));
        for (;;) {
            const int code = ::sqlite3_step(rows->get());
            if (code == SQLITE_DONE)
                break;
            if (code != SQLITE_ROW)
                return std::unexpected(database->error(cat(path, ", table ", kind.table), code));
            if (!take(json::serialize(line_of(rows->get(), kind))))
                return {};
        }
    }
    return {};
}

} // namespace holdfast::memory
