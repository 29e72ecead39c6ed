// Stored values as JSON: as the contract shows them, and as an export writes them.
#pragma once

#include "memory/repository/model.hpp"
#include "json/json.hpp"

#include <string>

namespace holdfast::memory {

// JSON as it is stored. Fingerprints are made of it, so the same value is the same text for ever.
std::string stored_text(const json::value& value);

json::object to_json(const Trace& trace);
json::object to_json(const StoredObject& object);
json::object to_json(const Feedback& feedback);

} // namespace holdfast::memory
