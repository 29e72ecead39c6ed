// A slot as JSON, for --json.
#pragma once

#include "holdfast/values.hpp"

#include "json/json.hpp"

#include <string>

namespace holdfast::cli {

boost::json::object to_json_object(const SlotInfo& info);
std::string to_json(const SlotInfo& info);

} // namespace holdfast::cli
