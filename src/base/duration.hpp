// Durations as people write them.
#pragma once

#include "holdfast/result.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast::base {

using Millis = std::chrono::milliseconds;

inline constexpr Millis max_duration = std::chrono::hours(24) * 3650;

// "250ms", "2s", "1.5s", "5m", "1h", "2d", "0". A bare number other than 0 is refused: its unit would be a
// guess. At most ten years.
Result<Millis> parse_duration(std::string_view text);

// For people: "850 ms", "12 s", "3 min 5 s", "2 h 4 min", "5 d 1 h".
std::string format_duration(Millis duration);

// "64M", "1.5G", "800K", "4096" (bytes). Powers of 1024. At most 2^62.
Result<unsigned long long> parse_size(std::string_view text);

// "812 KB", "12.4 MB", "1.2 GB".
std::string format_size(unsigned long long bytes);

} // namespace holdfast::base
