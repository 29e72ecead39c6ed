// The places of places.hpp for the user who runs this process: by the environment, by /etc/passwd where HOME
// is not set, and by what may be written.
#pragma once

#include "places/places.hpp"

#include <string_view>

namespace holdfast::places {

// Nothing is created. Errors: as of resolve_places.
Result<places::Places> places_of_user(std::string_view profile);
// The home of a memory, absolute and without a slash at its end: `given`, or the profile's when that is
// empty. Errors: as of places_of_user, and cannot_create when the user has no home.
Result<std::string> memory_home_of_user(std::string_view profile, const std::string& given);
// HOME, or the directory of the user's entry in /etc/passwd; empty when there is neither.
std::string home_directory();

} // namespace holdfast::places
