// Namespaces are compared as text, so they are stored with their members by name.
#pragma once

#include "holdfast/result.hpp"
#include "memory/repository/connection.hpp"

#include "json/json.hpp"

#include <string>

namespace holdfast::memory {

// A namespace as it is stored and compared: members by their names.
std::string namespace_text(const json::value& value);

// Brings those that an earlier version stored, as its clients had written them, into that form. Once per
// store: a mark in it says that it was done.
Result<void> sort_stored_namespaces(Database& database);

} // namespace holdfast::memory
