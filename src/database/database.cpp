#include "database/database.hpp"

#include "base/hex.hpp"
#include "base/text.hpp"

#include <sqlite3.h>

#include <cctype>

namespace holdfast::database {

using base::cat;

namespace {

// As SQLite takes it: everything that could mean something in an address is written as its number.
std::string still_uri(const std::string& path) {
    std::string uri = "file:";
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_')
            uri += c;
        else
            uri += cat('%', base::hex_digit(byte >> 4U), base::hex_digit(byte));
    }
    return uri + "?immutable=1";
}

} // namespace

Database::Database(Database&& other) noexcept
    : db_(std::exchange(other.db_, nullptr))
    , called_(other.called_)
    , statements_(std::move(other.statements_)) {}

Database& Database::operator=(Database&& other) noexcept {
    if (this != &other) {
        close();
        db_ = std::exchange(other.db_, nullptr);
        called_ = other.called_;
        statements_ = std::move(other.statements_);
        other.statements_.clear();
    }
    return *this;
}

Result<Database> Database::open(const std::string& path, OpenMode mode, const OpenWith& with) {
    const char* vfs = with.vfs;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    switch (mode) {
    case OpenMode::read_write_create:
        flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
        break;
    case OpenMode::read_write:
        flags |= SQLITE_OPEN_READWRITE;
        break;
    case OpenMode::read_only:
        flags |= SQLITE_OPEN_READONLY;
        break;
    case OpenMode::read_only_still:
        flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
        break;
    case OpenMode::read_only_with_log:
        flags |= SQLITE_OPEN_READONLY;
        vfs = "unix-none"; // takes no locks
        break;
    }
    Database database;
    database.called_ = with.called;
    const auto name = mode == OpenMode::read_only_still ? still_uri(path) : path;
    const int code = sqlite3_open_v2(name.c_str(), &database.db_, flags, vfs);
    if (code != SQLITE_OK)
        return std::unexpected(describe(database.db_, cat("open ", path), code));
    if (mode == OpenMode::read_only_with_log) {
        // Alone with its log, SQLite keeps the index of it in memory instead of in a file; and at the end it
        // must leave the log as it is.
        database.keep_log_on_close();
        if (auto alone = database.exec("PRAGMA locking_mode=EXCLUSIVE"); !alone)
            return std::unexpected(std::move(alone.error()));
    }
    return database;
}

void Database::close() noexcept {
    if (db_ == nullptr)
        return;
    // Ours only: FTS5 keeps statements of its own on this connection and finalizes them itself.
    for (auto& [sql, statement] : statements_)
        statement.finalize();
    statements_.clear();
    sqlite3_close(std::exchange(db_, nullptr));
}

Result<void> Database::exec(const std::string& sql) {
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
        return std::unexpected(describe(db_, called_, code));
    return {};
}

Result<Statement*> Database::prepare(std::string_view sql) {
    std::string key(sql);
    if (const auto found = statements_.find(key); found != statements_.end())
        return &found->second;
    sqlite3_stmt* stmt = nullptr;
    const int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
    if (code != SQLITE_OK)
        return std::unexpected(describe(db_, called_, code));
    return &statements_.emplace(std::move(key), Statement(stmt, called_)).first->second;
}

Result<std::int64_t> Database::scalar(std::string_view sql) {
    auto statement = prepare(sql);
    if (!statement)
        return std::unexpected(std::move(statement.error()));
    const ScopedReset reset(**statement);
    auto row = (*statement)->step();
    if (!row)
        return std::unexpected(std::move(row.error()));
    return *row ? (*statement)->integer(0) : 0;
}

std::int64_t Database::last_row_id() const noexcept {
    return sqlite3_last_insert_rowid(db_);
}
int Database::changes() const noexcept {
    return sqlite3_changes(db_);
}
std::int64_t Database::total_changes() const noexcept {
    return sqlite3_total_changes64(db_);
}
bool Database::in_transaction() const noexcept {
    return sqlite3_get_autocommit(db_) == 0;
}

void Database::wait_for_locks(int at_most_ms) noexcept {
    sqlite3_busy_timeout(db_, at_most_ms);
}

Copied Database::checkpoint(Checkpoint how) noexcept {
    const int mode = how == Checkpoint::passive ? SQLITE_CHECKPOINT_PASSIVE
                     : how == Checkpoint::full  ? SQLITE_CHECKPOINT_FULL
                                                : SQLITE_CHECKPOINT_TRUNCATE;
    Copied copied;
    copied.done = sqlite3_wal_checkpoint_v2(db_, nullptr, mode, &copied.frames, &copied.copied) == SQLITE_OK;
    return copied;
}

void Database::keep_log_on_close() noexcept {
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void Database::count_log_frames(std::atomic<std::size_t>& frames) noexcept {
    sqlite3_wal_hook(
        db_,
        [](void* counted, sqlite3*, const char*, int now) {
            *static_cast<std::atomic<std::size_t>*>(counted) = static_cast<std::size_t>(now);
            return SQLITE_OK;
        },
        &frames);
}

void Database::tell(RowListener& listener) noexcept {
    sqlite3_update_hook(
        db_,
        [](void* told, int kind, const char*, const char* table, sqlite3_int64 row) {
            if (kind != SQLITE_DELETE)
                static_cast<RowListener*>(told)->stored(table, row);
        },
        &listener);
}

} // namespace holdfast::database
