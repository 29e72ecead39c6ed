// From arguments and environment to places.
#pragma once

#include "base/duration.hpp"
#include "cli/shared/options.hpp"
#include "holdfast/result.hpp"
#include "holdfast/values.hpp"
#include "places/places.hpp"

namespace holdfast::cli {

// --profile, or HOLDFAST_PROFILE.
std::string profile_of(const Arguments& arguments);
// The profile's places; nothing is created.
Result<places::Places> places_of(const Arguments& arguments);
// Makes a directory for writing (0700) and warns when it is shared between machines.
Result<void> prepare_directory(const std::string& path);
// --slot-dir, or the profile's slots; relative paths are taken from the working directory.
Result<std::string> slot_directory(const Arguments& arguments);
// The value of --slot-dir as an absolute path. Error invalid_argument when there is no such directory.
Result<std::string> full_slot_directory(const std::string& given);

// An option as a duration or size, if it was given.
Result<std::optional<Millis>> duration_option(const Arguments& arguments, std::string_view name);
Result<std::optional<unsigned long long>> size_option(const Arguments& arguments, std::string_view name);

// --name, --session and --task are keys, and an empty one means nothing: most likely a variable that was not
// set. It must not come to mean all that have none.
Result<void> check_keys(const Arguments& arguments);

} // namespace holdfast::cli
