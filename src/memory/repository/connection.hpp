// Connections to the database of a memory.
#pragma once

#include "database/database.hpp"

#include <string>

namespace holdfast::memory {

// What the functions of this folder take: a connection.
using database::Database;
using database::is_corrupt;
using database::OpenMode;

// A connection that writes knows the words of lists (list_index.hpp): without them no trace can be stored.
// `vfs`: as Database::open takes it.
Result<Database> open_database(const std::string& path, OpenMode mode, const char* vfs = nullptr);
// What the writer's connection is set to, once it is known that the database is ours: the write-ahead log is
// used, and a commit is on the disk when it returns.
Result<void> set_up_writer(Database& database);
// For those that read; it waits for a lock as long as the writer does.
Result<Database> open_reader(const std::string& path);
// For a thread that copies the write-ahead log back.
Result<Database> open_for_checkpoints(const std::string& path);

inline constexpr int lock_wait_ms = 5000; // for what another process holds: nobody but a person with a tool

} // namespace holdfast::memory
