// What is given to C as JSON.
#pragma once

#include "holdfast.h"
#include "holdfast/registry.hpp"
#include "holdfast/supervisor.hpp"
#include "holdfast/values.hpp"

#include "json/json.hpp"

#include <string>
#include <vector>

namespace holdfast::capi {

// For a char* or a callback: JSON is UTF-8, whatever bytes a command line has.
std::string text_of(const json::value& value);

// Through an argument of a C function, which may be null.
hf_error give(const json::value& value, char** json);

json::object to_object(const HelperStatus& status);
json::object to_object(const Registered& entry);
json::array to_array(const std::vector<Registered>& entries);

} // namespace holdfast::capi
