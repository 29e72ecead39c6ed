// Connections to the database of a memory.
#pragma once

#include "database/database.hpp"

#include <string>

namespace holdfast::memory {

// What the functions of this folder take: a connection.
using database::Database;
using database::is_corrupt;
using database::OpenMode;
using database::ScopedReset;
using database::Statement;

// A connection that writes knows the words of lists (list_index.hpp): without them no trace can be stored.
// `vfs`: as Database::open takes it.
Result<Database> open_database(const std::string& path, OpenMode mode, const char* vfs = nullptr);

} // namespace holdfast::memory
