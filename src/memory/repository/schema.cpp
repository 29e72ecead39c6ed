#include "memory/repository/schema.hpp"

#include "base/text.hpp"
#include "database/transaction.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::memory {

using base::cat;

namespace {

// One row of `state` carries what each write transaction needs to read and change: the epoch that fences
// older owners, the next number for a trace, and the totals. One row is one page: it costs a commit next to
// nothing.
constexpr const char* tables = R"sql(
CREATE TABLE state(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL, next_trace INTEGER NOT NULL,
    sessions INTEGER NOT NULL, episodes INTEGER NOT NULL, traces INTEGER NOT NULL,
    feedback INTEGER NOT NULL, objects INTEGER NOT NULL);
INSERT INTO state VALUES(1, 0, 1, 0, 0, 0, 0, 0);
CREATE TABLE settings(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE sessions(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL,
    namespace TEXT, meta TEXT, opened_at INTEGER NOT NULL, closed_at INTEGER);

CREATE TABLE episodes(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions(row) ON DELETE CASCADE,
    opened_at INTEGER NOT NULL, closed_at INTEGER, pending_user TEXT, turn_key TEXT, turns INTEGER NOT NULL DEFAULT 0);
CREATE INDEX episodes_of_session ON episodes(session, row);

CREATE TABLE traces(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions(row) ON DELETE CASCADE,
    episode INTEGER NOT NULL REFERENCES episodes(row) ON DELETE CASCADE,
    ts INTEGER NOT NULL, kind TEXT NOT NULL,
    user_text TEXT NOT NULL, agent_text TEXT NOT NULL, thinking TEXT, reflection TEXT, summary TEXT,
    tags TEXT, tool_calls TEXT, meta TEXT, turn_id TEXT,
    value REAL NOT NULL DEFAULT 0, priority REAL NOT NULL DEFAULT 0.5,
    fingerprint INTEGER);
CREATE INDEX traces_of_session ON traces(session, ts, row);
CREATE INDEX traces_of_episode ON traces(episode, ts, row);

CREATE TABLE feedback(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, trace_id TEXT, episode_id TEXT,
    channel TEXT NOT NULL, polarity TEXT NOT NULL, magnitude REAL NOT NULL, rationale TEXT, raw TEXT,
    ts INTEGER NOT NULL);
CREATE INDEX feedback_of_trace ON feedback(trace_id) WHERE trace_id IS NOT NULL;
CREATE INDEX feedback_of_episode ON feedback(episode_id) WHERE episode_id IS NOT NULL;

CREATE TABLE policies(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, body TEXT NOT NULL,
    status TEXT NOT NULL, data TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    trials INTEGER NOT NULL DEFAULT 0);
CREATE TABLE world_models(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, body TEXT NOT NULL,
    status TEXT NOT NULL, data TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    trials INTEGER NOT NULL DEFAULT 0);
CREATE TABLE skills(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, body TEXT NOT NULL,
    status TEXT NOT NULL, data TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    trials INTEGER NOT NULL DEFAULT 0);
)sql";

// External content: the words' index only, the text stays in `traces`. The update trigger names the columns
// it watches and hands FTS5 the old text, so that one row's update costs its own words and nothing else; a
// change of value or priority does not touch the index at all.
constexpr const char* full_text = R"sql(
CREATE VIRTUAL TABLE traces_words USING fts5(
    user_text, agent_text, summary, reflection,
    content='traces', content_rowid='row', detail=none, columnsize=0,
    tokenize='unicode61 remove_diacritics 2');
CREATE TRIGGER traces_words_insert AFTER INSERT ON traces BEGIN
    INSERT INTO traces_words(rowid, user_text, agent_text, summary, reflection)
    VALUES (new.row, new.user_text, new.agent_text, new.summary, new.reflection);
END;
CREATE TRIGGER traces_words_delete AFTER DELETE ON traces BEGIN
    INSERT INTO traces_words(traces_words, rowid, user_text, agent_text, summary, reflection)
    VALUES ('delete', old.row, old.user_text, old.agent_text, old.summary, old.reflection);
END;
CREATE TRIGGER traces_words_update AFTER UPDATE OF row, user_text, agent_text, summary, reflection ON traces BEGIN
    INSERT INTO traces_words(traces_words, rowid, user_text, agent_text, summary, reflection)
    VALUES ('delete', old.row, old.user_text, old.agent_text, old.summary, old.reflection);
    INSERT INTO traces_words(rowid, user_text, agent_text, summary, reflection)
    VALUES (new.row, new.user_text, new.agent_text, new.summary, new.reflection);
END;
INSERT INTO traces_words(traces_words) VALUES ('rebuild');
)sql";

// For people who look back: episodes and sessions by their time, which after an import is not the order of
// their rows. What an imported episode brought along that has no column of its own is kept in `meta`.
constexpr const char* by_time = R"sql(
ALTER TABLE episodes ADD COLUMN meta TEXT;
CREATE INDEX episodes_by_time ON episodes(opened_at, row);
CREATE INDEX sessions_by_time ON sessions(opened_at, row);
)sql";

// The words as list_words.hpp reads them: with unicode61 a Chinese sentence is one word, a Hindi word
// several.
constexpr const char* without_words = R"sql(
DROP TRIGGER traces_words_insert;
DROP TRIGGER traces_words_delete;
DROP TRIGGER traces_words_update;
DROP TABLE traces_words;
)sql";
constexpr const char* list_words_index = R"sql(
CREATE VIRTUAL TABLE traces_words USING fts5(
    user_text, agent_text, summary, reflection,
    content='traces', content_rowid='row', detail=none, columnsize=0, tokenize='list_words');
CREATE TRIGGER traces_words_insert AFTER INSERT ON traces BEGIN
    INSERT INTO traces_words(rowid, user_text, agent_text, summary, reflection)
    VALUES (new.row, new.user_text, new.agent_text, new.summary, new.reflection);
END;
CREATE TRIGGER traces_words_delete AFTER DELETE ON traces BEGIN
    INSERT INTO traces_words(traces_words, rowid, user_text, agent_text, summary, reflection)
    VALUES ('delete', old.row, old.user_text, old.agent_text, old.summary, old.reflection);
END;
CREATE TRIGGER traces_words_update AFTER UPDATE OF row, user_text, agent_text, summary, reflection ON traces BEGIN
    INSERT INTO traces_words(traces_words, rowid, user_text, agent_text, summary, reflection)
    VALUES ('delete', old.row, old.user_text, old.agent_text, old.summary, old.reflection);
    INSERT INTO traces_words(rowid, user_text, agent_text, summary, reflection)
    VALUES (new.row, new.user_text, new.agent_text, new.summary, new.reflection);
END;
)sql";

// The rows are read again piece by piece: an index of a million takes minutes, and somebody waits for a sign
// of life.
Result<void> make_list_words(Database& database, const MigrationRows& tell, const char* name) {
    constexpr std::int64_t piece = 500; // rows
    if (auto made = database.exec(list_words_index); !made)
        return made;
    auto rows = database.scalar("SELECT coalesce(max(row), 0) FROM traces");
    if (!rows)
        return std::unexpected(std::move(rows.error()));
    for (std::int64_t done = 0; done < *rows; done += piece) {
        if (tell && done > 0)
            tell(done, *rows, name);
        auto fill = database.prepare(
            "INSERT INTO traces_words(rowid, user_text, agent_text, summary, reflection)"
            " SELECT row, user_text, agent_text, summary, reflection FROM traces WHERE row>?1 AND row<=?2");
        if (!fill)
            return std::unexpected(std::move(fill.error()));
        if (auto filled = (*fill)->bind(1, done).bind(2, done + piece).run(); !filled)
            return filled;
    }
    return {};
}

constexpr Migration all_migrations[] = {
    {1, "tables", false, tables},
    {2, "full-text index", false, full_text},
    {3, "episodes by time", false, by_time},
    {4, "words of every script", false, without_words, make_list_words},
};

bool exists(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0;
}

Result<void> sync(const std::string& path, int kind) {
    const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | kind));
    if (!file || ::fsync(file.get()) != 0)
        return sys::fail_sys(cat("write ", path, " to the disk"));
    return {};
}

// A whole, readable copy. It is made under a temporary name, so that a copy with the final name is complete;
// and SQLite leaves it to others to bring it to the disk.
Result<void> back_up(Database& database, const std::string& path, int number) {
    std::string target = cat(path, ".before-", number);
    for (int suffix = 2; exists(target); ++suffix)
        target = cat(path, ".before-", number, ".", suffix);
    const std::string unfinished = target + ".tmp";
    ::unlink(unfinished.c_str());
    auto copy = database.prepare("VACUUM INTO ?1");
    if (!copy)
        return std::unexpected(std::move(copy.error()));
    if (auto done = (*copy)->bind(1, unfinished).run(); !done) {
        ::unlink(unfinished.c_str());
        done.error().message = cat("backup before a migration: ", done.error().message);
        return done;
    }
    ::chmod(unfinished.c_str(), 0600);
    if (auto synced = sync(unfinished, 0); !synced)
        return synced;
    if (::rename(unfinished.c_str(), target.c_str()) != 0)
        return fail(Errc::io, cat("backup before a migration: cannot rename to ", target), errno);
    return sync(target.substr(0, target.rfind('/') + 1), O_DIRECTORY);
}

Result<void> run(Database& database, const Migration& step, const MigrationRows& rows) {
    auto transaction = database::Transaction::begin(database);
    if (!transaction)
        return std::unexpected(std::move(transaction.error()));
    auto done = database.exec(step.sql);
    if (done && step.then != nullptr)
        done = step.then(database, rows, step.name);
    if (done)
        done = database.exec(cat("PRAGMA user_version=", step.number));
    return done ? transaction->commit() : done;
}

} // namespace

std::span<const Migration> migrations() {
    return all_migrations;
}

std::string full_text_index() {
    return cat(list_words_index, "INSERT INTO traces_words(traces_words) VALUES ('rebuild');");
}

Result<void> check_whose(Database& database, const std::string& path) {
    auto things = database.scalar("SELECT count(*) FROM sqlite_schema");
    if (!things)
        return std::unexpected(std::move(things.error()));
    auto version = database.scalar("PRAGMA user_version");
    if (!version)
        return std::unexpected(std::move(version.error()));
    if (*things == 0 && *version == 0)
        return {};
    // Every version has this table, with these columns. The number alone says nothing: many programs count
    // theirs.
    auto ours = database.scalar(
        "SELECT count(*) FROM pragma_table_info('state') WHERE name IN ('epoch', 'next_trace', 'traces')");
    if (!ours)
        return std::unexpected(std::move(ours.error()));
    if (*ours != 3 || *version <= 0)
        return fail(Errc::unsupported,
                    cat(path, " is the database of another program: nothing was changed in it. "
                              "Move it away, or use another home"));
    const auto last = migrations().back().number;
    if (*version > last)
        return fail(Errc::unsupported,
                    cat("the store ", path, " was written by a newer version (schema ", *version,
                        ", this one knows ", last, "): start that version, or use another home"));
    return {};
}

Result<void> migrate(Database& database, const std::string& path, std::span<const Migration> steps,
                     const MigrationProgress& progress, const MigrationRows& rows) {
    auto version = database.scalar("PRAGMA user_version");
    if (!version)
        return std::unexpected(std::move(version.error()));
    const auto current = static_cast<int>(*version);
    const auto last = steps.empty() ? 0 : steps.back().number;
    bool backed_up = false;
    for (const auto& step : steps) {
        if (step.number <= current)
            continue;
        progress(step.number - current, last - current, step.name);
        if (step.breaking && current > 0 && !backed_up) {
            if (auto done = back_up(database, path, step.number); !done)
                return done;
            backed_up = true;
        }
        if (auto done = run(database, step, rows); !done) {
            done.error().message =
                cat("migration ", step.number, " (", step.name, "): ", done.error().message);
            return done;
        }
    }
    return {};
}

} // namespace holdfast::memory
