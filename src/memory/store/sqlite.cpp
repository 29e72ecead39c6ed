#include "memory/store/sqlite.hpp"

#include "base/hex.hpp"
#include "base/text.hpp"
#include "memory/store/list_index.hpp"

#include <sqlite3.h>

#include <cctype>
#include <cerrno>
#include <cstring>

namespace holdfast::memory {

using base::cat;

namespace {

std::string file_of(sqlite3* db) {
    const char* path = db != nullptr ? sqlite3_db_filename(db, "main") : nullptr;
    return path != nullptr && *path != 0 ? path : "the database";
}

Error describe(sqlite3* db, std::string_view what, int code) {
    const int primary = code & 0xff;
    const int sys = db != nullptr ? sqlite3_system_errno(db) : 0;
    const char* text = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    if (primary == SQLITE_FULL ||
        (primary == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)))
        return {Errc::no_space,
                cat(what, ": the disk is full. Nothing was changed; free some space and try again"), ENOSPC};
    if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
        return {Errc::io, cat(what, ": the database is corrupt (", text, ")"), EUCLEAN};
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return {Errc::held, cat(what, ": another connection holds the database (", text, ")"), 0};
    if (primary == SQLITE_PERM || primary == SQLITE_READONLY || primary == SQLITE_AUTH ||
        (primary == SQLITE_CANTOPEN && (sys == EACCES || sys == EPERM || sys == EROFS)))
        return {Errc::not_permitted,
                cat(what, ": ", text, ". ", file_of(db),
                    " and its folder must be readable and writable for this user"),
                sys != 0 ? sys : EACCES};
    if (primary == SQLITE_CANTOPEN && sys != 0)
        return {Errc::io, cat(what, ": ", text, " (", std::strerror(sys), ")"), sys};
    if (primary == SQLITE_INTERRUPT)
        return {Errc::cancelled, cat(what, ": interrupted"), 0};
    if (primary == SQLITE_TOOBIG)
        return {Errc::overflow, cat(what, ": ", text), 0};
    return {Errc::io, cat(what, ": ", text), sys};
}

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

bool is_corrupt(const Error& error) noexcept {
    return error.sys == EUCLEAN;
}

Statement& Statement::bind(int index, std::int64_t value) noexcept {
    sqlite3_bind_int64(stmt_, index, value);
    return *this;
}

Statement& Statement::bind(int index, double value) noexcept {
    sqlite3_bind_double(stmt_, index, value);
    return *this;
}

Statement& Statement::bind(int index, std::string_view text) noexcept {
    // A null pointer would bind NULL; an empty text is a text.
    sqlite3_bind_text64(stmt_, index, text.data() != nullptr ? text.data() : "", text.size(), SQLITE_STATIC,
                        SQLITE_UTF8);
    return *this;
}

Statement& Statement::bind_null(int index) noexcept {
    sqlite3_bind_null(stmt_, index);
    return *this;
}

Statement& Statement::bind_or_null(int index, std::string_view text) noexcept {
    return text.empty() ? bind_null(index) : bind(index, text);
}

Result<bool> Statement::step() {
    const int code = sqlite3_step(stmt_);
    if (code == SQLITE_ROW)
        return true;
    if (code == SQLITE_DONE)
        return false;
    auto error = describe(sqlite3_db_handle(stmt_), "memory store",
                          sqlite3_extended_errcode(sqlite3_db_handle(stmt_)));
    sqlite3_reset(stmt_);
    return std::unexpected(std::move(error));
}

Result<void> Statement::run() {
    for (;;) {
        auto row = step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row)
            break;
    }
    reset();
    return {};
}

void Statement::reset() noexcept {
    sqlite3_reset(stmt_);
    sqlite3_clear_bindings(stmt_);
}

void Statement::finalize() noexcept {
    sqlite3_finalize(std::exchange(stmt_, nullptr));
}

std::int64_t Statement::integer(int column) const noexcept {
    return sqlite3_column_int64(stmt_, column);
}
double Statement::real(int column) const noexcept {
    return sqlite3_column_double(stmt_, column);
}
bool Statement::is_null(int column) const noexcept {
    return sqlite3_column_type(stmt_, column) == SQLITE_NULL;
}

std::string_view Statement::text(int column) const noexcept {
    const auto* text = sqlite3_column_text(stmt_, column);
    if (text == nullptr)
        return {};
    return {reinterpret_cast<const char*>(text),
            static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column))};
}

Database::Database(Database&& other) noexcept
    : db_(std::exchange(other.db_, nullptr))
    , statements_(std::move(other.statements_)) {}

Database& Database::operator=(Database&& other) noexcept {
    if (this != &other) {
        close();
        db_ = std::exchange(other.db_, nullptr);
        statements_ = std::move(other.statements_);
        other.statements_.clear();
    }
    return *this;
}

Result<Database> Database::open(const std::string& path, OpenMode mode, const char* vfs) {
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
    const auto name = mode == OpenMode::read_only_still ? still_uri(path) : path;
    const int code = sqlite3_open_v2(name.c_str(), &database.db_, flags, vfs);
    if (code != SQLITE_OK)
        return std::unexpected(describe(database.db_, cat("open ", path), code));
    if (mode == OpenMode::read_only_with_log) {
        // Alone with its log, SQLite keeps the index of it in memory instead of in a file; and at the end it
        // must leave the log as it is.
        sqlite3_db_config(database.db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
        if (auto alone = database.exec("PRAGMA locking_mode=EXCLUSIVE"); !alone)
            return std::unexpected(std::move(alone.error()));
    }
    if (mode == OpenMode::read_write_create || mode == OpenMode::read_write)
        if (auto added = add_list_words(database.db_); !added)
            return std::unexpected(std::move(added.error()));
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

Error Database::error(std::string_view what, int code) const {
    return describe(db_, what, code);
}

Result<void> Database::exec(const std::string& sql) {
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
        return std::unexpected(describe(db_, "memory store", code));
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
        return std::unexpected(describe(db_, "memory store", code));
    return &statements_.emplace(std::move(key), Statement(stmt)).first->second;
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
bool Database::in_transaction() const noexcept {
    return sqlite3_get_autocommit(db_) == 0;
}

} // namespace holdfast::memory
