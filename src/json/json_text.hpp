// JSON as text for people and programs alike: numbers as they are written by hand (0.5, not 5E-1).
#pragma once

#include "json/json.hpp"

#include <string>

namespace holdfast::json {

// On one line. A number with a fraction keeps its point (1.0), so it is read again as what it was; one that
// JSON has no word for (infinity) is null.
std::string json_text(const json::value& value);

} // namespace holdfast::json
