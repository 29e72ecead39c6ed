// The logs of helpers: one file each, named after its entry, and no more of them than are of use.
#pragma once

#include "core/log_keeping.hpp"
#include "holdfast/result.hpp"
#include "places/places.hpp"

#include <string>
#include <vector>

namespace holdfast::registry {

std::string log_directory(const places::Places& places);
// The entries, running or not, of which there is a log.
std::vector<std::string> logged_ids(const places::Places& places);

// Where the helper of entry `id` writes its log: the directory is made, and the logs of helpers that have
// ended make way beyond the limits, the oldest first. The entry is owned by this process. For who starts one;
// readers remove nothing.
Result<std::string> place_for_log(const places::Places& places, const std::string& id,
                                  const core::LogLimits& limits = {});

} // namespace holdfast::registry
