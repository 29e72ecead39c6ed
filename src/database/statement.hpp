// A prepared statement, and errors of SQLite as values.
//
// A corrupt file is told apart from every other failure by Error::sys == EUCLEAN (is_corrupt), a full disk by
// Errc::no_space, and a lock that another process holds by Errc::held.
#pragma once

#include "holdfast/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::database {

// True when the error means that the file's content is not a sound SQLite database.
bool is_corrupt(const Error& error) noexcept;

// What SQLite said last on this connection; `what` is what was tried, or what to call the database.
Error describe(sqlite3* connection, std::string_view what, int code);

// A statement that the Database keeps. Bound anew for each use; parameters are numbered from 1.
// Column text stays valid until the next step(), reset() or bind.
class Statement {
public:
    Statement() = default;
    Statement(sqlite3_stmt* stmt, const char* called) noexcept
        : stmt_(stmt)
        , called_(called) {}

    Statement& bind(int index, std::int64_t value) noexcept;
    Statement& bind(int index, int value) noexcept { return bind(index, static_cast<std::int64_t>(value)); }
    Statement& bind(int index, double value) noexcept;
    // The text must live until the statement is reset: it is not copied.
    Statement& bind(int index, std::string_view text) noexcept;
    Statement& bind(int index, const std::string& text) noexcept {
        return bind(index, std::string_view(text));
    }
    Statement& bind(int index, const char* text) noexcept { return bind(index, std::string_view(text)); }
    Statement& bind_null(int index) noexcept;
    // NULL when the text is empty.
    Statement& bind_or_null(int index, std::string_view text) noexcept;

    // True: a row is there. False: done.
    Result<bool> step();
    // Runs to the end and resets.
    Result<void> run();
    void reset() noexcept;
    void finalize() noexcept; // by the Database, when it closes

    [[nodiscard]] std::int64_t integer(int column) const noexcept;
    [[nodiscard]] double real(int column) const noexcept;
    [[nodiscard]] std::string_view text(int column) const noexcept;
    [[nodiscard]] std::string string(int column) const { return std::string(text(column)); }
    [[nodiscard]] bool is_null(int column) const noexcept;

private:
    sqlite3_stmt* stmt_ = nullptr;
    const char* called_ = ""; // what errors call the database
};

// Resets a statement at the end of a scope, so that it holds no read transaction open.
class ScopedReset {
public:
    explicit ScopedReset(Statement& statement) noexcept
        : statement_(statement) {}
    ~ScopedReset() { statement_.reset(); }
    ScopedReset(const ScopedReset&) = delete;
    ScopedReset& operator=(const ScopedReset&) = delete;

private:
    Statement& statement_;
};

} // namespace holdfast::database
