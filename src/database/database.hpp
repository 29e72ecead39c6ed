// A connection to a SQLite database. It is used by one thread at a time.
#pragma once

#include "database/statement.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::database {

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

// Hears of each row that a connection inserts or changes, on its thread, before the commit.
class RowListener {
public:
    virtual ~RowListener() = default;
    virtual void stored(std::string_view table, std::int64_t row) = 0;
};

// How much of the write-ahead log a checkpoint copies: what nobody is in the way of; all of it, waiting for
// those that are; the same, and the log is cut to nothing.
enum class Checkpoint : std::uint8_t { passive, full, truncate };
struct Copied {
    bool done = false; // it did what it was asked for
    int frames = 0;    // of the log; -1 when it could not be done
    int copied = 0;    // of those
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
    [[nodiscard]] std::int64_t total_changes() const noexcept; // since it was opened, by triggers too
    [[nodiscard]] bool in_transaction() const noexcept;
    // How long a statement waits for a lock that another connection holds. At first it does not.
    void wait_for_locks(int at_most_ms) noexcept;
    Copied checkpoint(Checkpoint how) noexcept;
    // The last connection to close leaves the log as it is, instead of copying it back and removing it.
    void keep_log_on_close() noexcept;
    // After each commit `frames` is how many frames the log has.
    void count_log_frames(std::atomic<std::size_t>& frames) noexcept;
    void tell(RowListener& listener) noexcept;
    [[nodiscard]] sqlite3* raw() const noexcept { return db_; } // for what is not here

private:
    sqlite3* db_ = nullptr;
    const char* called_ = "database";
    std::unordered_map<std::string, Statement> statements_;
};

} // namespace holdfast::database
