// For the sources of this folder: statements, and rows as values.
#pragma once

#include "database/row_reading.hpp"
#include "memory/repository/connection.hpp"

namespace holdfast::memory {

using database::ScopedReset;
using database::Statement;

} // namespace holdfast::memory
