// Lists of the contract: by words, newest first.
#include "base/text.hpp"
#include "memory/repository/row_values.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/statements.hpp"
#include "memory/text/list_words.hpp"

namespace holdfast::memory {

using base::cat;

namespace {

// What a person typed, as an FTS5 query: words only, all of them, the last one open-ended. No word needs
// quoting inside: they are letters and digits.
std::string match_of(std::string_view typed) {
    std::string match;
    for (const auto& wanted : wanted_words(typed))
        match += cat(match.empty() ? "" : " AND ", '"', wanted.word, wanted.open_ended ? "\"*" : "\"");
    return match;
}

} // namespace

Result<std::vector<Trace>> list_traces(Database& database, const ListFilter& filter) {
    const std::string match = match_of(filter.words);
    if (!filter.words.empty() && match.empty())
        return std::vector<Trace>{}; // only punctuation: no word can match
    std::string sql = "SELECT " HF_TRACE_COLUMNS HF_TRACE_JOIN "WHERE ";
    if (!match.empty())
        sql += "t.row IN (SELECT rowid FROM traces_words WHERE traces_words MATCH ?4 ORDER BY rowid DESC "
               "LIMIT 5000) AND ";
    sql += filter.session_row != 0 ? "t.session=?1 ORDER BY t.ts DESC, t.row DESC LIMIT ?2 OFFSET ?3"
                                   : "?1=0 ORDER BY t.row DESC LIMIT ?2 OFFSET ?3";
    HF_PREPARE(rows, database, sql);
    (*rows)->bind(1, filter.session_row).bind(2, filter.limit).bind(3, filter.offset);
    if (!match.empty())
        (*rows)->bind(4, match);
    return collect(**rows, trace_of);
}

Result<std::vector<std::string>> list_episode_ids(Database& database, const ListFilter& filter) {
    const std::string match = match_of(filter.words);
    std::string sql = "SELECT id FROM episodes WHERE ";
    if (!filter.words.empty())
        sql += "row IN (SELECT episode FROM traces WHERE row IN (SELECT rowid FROM traces_words WHERE "
               "traces_words"
               " MATCH ?4 ORDER BY rowid DESC LIMIT 5000)) AND ";
    sql += filter.session_row != 0 ? "session=?1" : "?1=0";
    sql += " ORDER BY row DESC LIMIT ?2 OFFSET ?3";
    HF_PREPARE(rows, database, sql);
    (*rows)->bind(1, filter.session_row).bind(2, filter.limit).bind(3, filter.offset);
    if (!filter.words.empty()) {
        if (match.empty())
            return std::vector<std::string>{};
        (*rows)->bind(4, match);
    }
    return collect(**rows, [](const Statement& row) { return row.string(0); });
}

Result<std::vector<Session>> list_sessions(Database& database, std::int64_t limit, std::int64_t offset) {
    HF_PREPARE(rows, database,
               "SELECT " HF_SESSION_COLUMNS " FROM sessions"
               " ORDER BY row DESC LIMIT ?1 OFFSET ?2");
    (*rows)->bind(1, limit).bind(2, offset);
    return collect(**rows, session_of);
}

} // namespace holdfast::memory
