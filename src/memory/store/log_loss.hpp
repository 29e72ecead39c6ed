// A write-ahead log that was cut, removed or replaced under its owner: what can still be saved of it, and a
// note of it beside the database.
//
//   <database>.log-cut-<time>        the note: one sentence. Rows that were answered may be missing
//   <database>.log-moved-<time>      the note: the log was only taken from its place, and nothing is missing
//   <note>-wal                       what lay at the place of the log
//   <note>.rows                      rows that only the owner's memory still had, as lines of an export; the
//                                    next owner stores them and removes the file
#pragma once

#include "holdfast/result.hpp"
#include "memory/store/log_watch.hpp"
#include "memory/store/sqlite.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::memory {

// What is exported, in this order.
inline constexpr std::array stored_tables = {"sessions", "episodes",     "traces", "feedback",
                                             "policies", "world_models", "skills"};
// The last row of each at a moment when the database had all that was committed.
using RowMarks = std::array<std::int64_t, stored_tables.size()>;
Result<RowMarks> read_row_marks(Database& database);

// Writes the rows after `marks` that can be read as lines to `fd`; how many lines those are.
struct SavedRows {
    std::int64_t lines = 0;
};
using SaveRows = std::function<Result<SavedRows>(Database&, const RowMarks& marks, int fd)>;

// To be called by the writer, when no checkpoint is running and none will be begun. `state` is what it found.
// Afterwards nothing may be written with this connection. The sentence that the note has. When `state` is cut
// the connection must not copy the log back when it closes; that is set here.
std::string save_from_log(Database& writer, const LogWatch& log, LogState state, const std::string& path,
                          const RowMarks& marks, const SaveRows& save);

struct LogLoss {
    std::string note; // its path
    std::string text;
    bool rows_missing = false; // perhaps
};
// Of those whose notes lie there the newest of each kind.
std::vector<LogLoss> log_losses(const std::string& path);
// The files of rows that wait to be stored, the oldest first.
std::vector<std::string> rows_to_bring_back(const std::string& path);

} // namespace holdfast::memory
