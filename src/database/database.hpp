// SQLite, wrapped: a connection, a prepared statement, and errors as values.
//
// A Database is used by one thread at a time. A corrupt file is told apart from every other failure by
// Error::sys == EUCLEAN (is_corrupt), a full disk by Errc::no_space, and a lock that another process holds by
// Errc::held.
#pragma once

#include "holdfast/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::database {

// True when the error means that the file's content is not a sound SQLite database.
bool is_corrupt(const Error& error) noexcept;

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

enum class OpenMode {
    read_write_create,
    read_write,
    read_only,
    read_only_still,    // nobody changes it meanwhile: no lock is taken and no file beside it is needed
    read_only_with_log, // the same, for one with a log that nobody has copied back: it is read into memory
};

struct OpenWith {
    const char* vfs = nullptr;       // the name of one that is registered; null: SQLite's own
    const char* called = "database"; // what errors begin with; it outlives the connection
};

class Database {
public:
    Database() = default;
    Database(Database&& other) noexcept;
    Database& operator=(Database&& other) noexcept;
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database() { close(); }

    // Opens the file; touches nothing in it yet (SQLite reads at the first statement).
    static Result<Database> open(const std::string& path, OpenMode mode, const OpenWith& with = {});
    void close() noexcept;

    // One or more statements without parameters or rows.
    Result<void> exec(const std::string& sql);
    // The statement for this text, prepared once per connection and kept until it closes.
    Result<Statement*> prepare(std::string_view sql);
    // First column of the first row; 0 when there is no row.
    Result<std::int64_t> scalar(std::string_view sql);

    [[nodiscard]] std::int64_t last_row_id() const noexcept;
    [[nodiscard]] int changes() const noexcept;
    [[nodiscard]] bool in_transaction() const noexcept;
    [[nodiscard]] sqlite3* raw() const noexcept { return db_; }
    [[nodiscard]] Error error(std::string_view what, int code) const;

private:
    sqlite3* db_ = nullptr;
    const char* called_ = "database";
    std::unordered_map<std::string, Statement> statements_;
};

} // namespace holdfast::database
