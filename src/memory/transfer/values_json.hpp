// Stored values as JSON: as the contract shows them, and as an export writes them.
#pragma once

#include "memory/repository/model.hpp"
#include "json/json.hpp"

namespace holdfast::memory {

json::object to_json(const Trace& trace);
json::object to_json(const StoredObject& object);
json::object to_json(const Feedback& feedback);

} // namespace holdfast::memory
