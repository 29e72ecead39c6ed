#include "database/statement.hpp"

#include "base/text.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

namespace holdfast::database {

using base::cat;

namespace {

std::string file_of(sqlite3* db) {
    const char* path = db != nullptr ? sqlite3_db_filename(db, "main") : nullptr;
    return path != nullptr && *path != 0 ? path : "the database";
}

} // namespace

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
    auto error =
        describe(sqlite3_db_handle(stmt_), called_, sqlite3_extended_errcode(sqlite3_db_handle(stmt_)));
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

} // namespace holdfast::database
