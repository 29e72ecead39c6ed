// What is given to C as JSON.
#pragma once

#include "holdfast/registry.hpp"
#include "holdfast/supervisor.hpp"
#include "holdfast/values.hpp"

#include "json/json.hpp"

#include <string>
#include <vector>

namespace holdfast::capi {

boost::json::object to_object(const SlotInfo& info);
boost::json::object to_object(const HelperStatus& status);
boost::json::object to_object(const Registered& entry);
boost::json::array to_array(const std::vector<Registered>& entries);
boost::json::array to_array(const std::vector<Leftover>& leftovers);

} // namespace holdfast::capi
