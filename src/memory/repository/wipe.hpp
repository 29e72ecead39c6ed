// After something was forgotten: makes it unreadable in the store's files. A deleted row leaves its words in
// the segments of the full-text index, its long text in pages that are free, and all of it in the write-ahead
// log. All three go in small steps, while nobody waits for a write; a mark in the store says that it is not
// done, so that the next owner goes on after a crash.
#pragma once

#include "holdfast/result.hpp"
#include "memory/repository/connection.hpp"

#include <cstdint>

namespace holdfast::memory {

// To be called in the transaction that deletes: the mark.
Result<void> mark_forgotten(Database& database);

// Used on one thread, that of the writer.
class Wipe {
public:
    // Whether a mark is there from an earlier owner; then it is due.
    Result<void> look(Database& database);
    // Something was deleted and committed: from the beginning.
    void ask() noexcept { stage_ = Stage::begin_merge; }
    [[nodiscard]] bool due() const noexcept { return stage_ != Stage::none; }
    // The next step is to empty the log, outside of any transaction; else it is step().
    [[nodiscard]] bool wants_log_emptied() const noexcept { return stage_ == Stage::empty_log; }
    void log_emptied() noexcept { stage_ = Stage::unmark; }
    // One step, in a transaction that the caller commits: about half a megabyte is written. The stage that
    // follows is entered when the caller says that the commit was done.
    Result<void> step(Database& database);
    void committed() noexcept { stage_ = next_; }

private:
    enum class Stage : std::uint8_t { none, begin_merge, merge, fill, give_back, empty_log, unmark };
    Result<void> merge(Database& database);
    Result<void> fill(Database& database);

    Stage stage_ = Stage::none;
    Stage next_ = Stage::none;
};

} // namespace holdfast::memory
