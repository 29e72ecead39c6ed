// How the memory commands show times.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::cli {

// "2026-11-16 04:36", as the clocks here show it; a number that no calendar has stays one.
std::string moment(std::int64_t ms);

} // namespace holdfast::cli
