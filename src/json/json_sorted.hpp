// JSON as text that is compared: two values that mean the same are the same text.
#pragma once

#include "json/json.hpp"

#include <string>

namespace holdfast::json {

// On one line, the members of every object by their names. A value is at most as deep as the parser takes it.
std::string sorted_json_text(json::value value);

} // namespace holdfast::json
