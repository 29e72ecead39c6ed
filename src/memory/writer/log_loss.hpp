// A write-ahead log that was cut, removed or replaced under its owner: what can still be saved of it, and a
// note of it beside the database.
//
//   <database>.log-cut-<time>        the note: one sentence. Rows that were answered may be missing
//   <database>.log-moved-<time>      the note: the log was only taken from its place, and nothing is missing
//   <note>-wal                       what lay at the place of the log
//   <note>.rows                      what only the owner's memory still had: rows that came or were changed
//   as
//                                    lines of an export, and {"type":"forget","id":…} for a trace that was
//                                    deleted. The next owner does the same to the store before it serves
//                                    anybody, and removes the file
#pragma once

#include "database/log_watch.hpp"
#include "holdfast/result.hpp"
#include "memory/repository/connection.hpp"
#include "memory/writer/unsaved.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::memory {

// Writes what of `unsaved` can be read as lines to `fd`; how many lines those are.
struct SavedRows {
    std::int64_t lines = 0;
};
using SaveRows = std::function<Result<SavedRows>(Database&, const Unsaved& unsaved, int fd)>;

// To be called by the writer, when no checkpoint is running and none will be begun. `state` is what it found.
// Afterwards nothing may be written with this connection. The sentence that the note has. When `state` is cut
// the connection must not copy the log back when it closes; that is set here.
std::string save_from_log(Database& writer, const database::LogWatch& log, database::LogState state,
                          const std::string& path, const Unsaved& unsaved, const SaveRows& save);

struct LogLoss {
    std::string note; // its path
    std::string text;
    bool rows_missing = false; // perhaps
};
// Of those whose notes lie there the newest of each kind.
std::vector<LogLoss> log_losses(const std::string& path);
// The files of rows that wait to be stored, the oldest first.
std::vector<std::string> rows_to_bring_back(const std::string& path);
// They are stored: removes the file for good, and says so in its note.
Result<void> rows_are_brought_back(const std::string& rows, std::int64_t changes);

} // namespace holdfast::memory
