// A database that is corrupt, kept beside the one that was begun in its place: `<path>.corrupt-<time>`.
#pragma once

#include "holdfast/result.hpp"

#include <string>

namespace holdfast::memory {

// A log without its database, or beside one that was cut off to nothing: SQLite would remove it unread.
bool has_log_alone(const std::string& path);

// Renames it, with its log; nothing that lies there is replaced. Where it is now. A log that is alone joins
// the database that was put aside without one (a crash came between them), or else gets an empty page as one,
// with which what it holds can be read.
Result<std::string> put_aside(const std::string& path);

// The newest of those that lie there; empty: none. As long as it is there, somebody may still want to know.
std::string kept_aside(const std::string& path);

} // namespace holdfast::memory
