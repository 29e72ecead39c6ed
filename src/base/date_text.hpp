// A moment of the wall clock as text for people.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::base {

enum class Zone : bool { utc, local };
enum class DatePrecision : bool { minutes, milliseconds };

// "2026-11-16 04:12", or "2026-11-16 04:12:09.250"; in UTC with " UTC" behind it. Milliseconds since 1970
// come from others, so they may be anything: outside of the years 0 to 9999 the number itself is given.
std::string date_text(std::int64_t unix_ms, Zone zone, DatePrecision precision = DatePrecision::minutes);

} // namespace holdfast::base
