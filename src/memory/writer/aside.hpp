// A database that is corrupt, kept beside the one that was begun in its place: `<path>.corrupt-<time>`.
#pragma once

#include "holdfast/result.hpp"

#include <string>
#include <string_view>

namespace holdfast::memory {

// A log without its database, or beside one that was cut off to nothing: SQLite would remove it unread.
bool has_log_alone(const std::string& path);

// Renames it, with its log; nothing that lies there is replaced. Where it is now. A log that is alone joins
// the database that was put aside without one (a crash came between them), or else gets an empty page as one,
// with which what it holds can be read.
Result<std::string> put_aside(const std::string& path);

// The newest of those that lie there; empty: none. As long as it is there, somebody may still want to know.
// `why` is what stands between the name of the database and the time.
inline constexpr std::string_view corrupt_mark = ".corrupt-";
std::string kept_aside(const std::string& path, std::string_view why = corrupt_mark);
// `<path><why><time>`, a name under which nothing lies yet, nor with "-wal" and the like behind it.
std::string free_name(const std::string& path, std::string_view why = corrupt_mark);

} // namespace holdfast::memory
