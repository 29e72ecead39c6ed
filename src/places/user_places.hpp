// The places of core/places for the user who runs this process: by the environment, by /etc/passwd where HOME
// is not set, and by what may be written.
#pragma once

#include "places/places.hpp"

#include <string_view>

namespace holdfast::places {

// Nothing is created. Errors: as of core::resolve_places.
Result<places::Places> places_of_user(std::string_view profile);
// HOME, or the directory of the user's entry in /etc/passwd; empty when there is neither.
std::string home_directory();

} // namespace holdfast::places
