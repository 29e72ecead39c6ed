#include "base/date_text.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace holdfast::base {

std::string date_text(std::int64_t unix_ms, Zone zone, DatePrecision precision) {
    const int ms = static_cast<int>((unix_ms % 1000 + 1000) % 1000);
    const auto seconds = static_cast<std::time_t>(unix_ms / 1000 - (unix_ms % 1000 < 0 ? 1 : 0));
    std::tm parts{};
    const bool known =
        (zone == Zone::utc ? ::gmtime_r(&seconds, &parts) : ::localtime_r(&seconds, &parts)) != nullptr;
    if (!known || parts.tm_year < -1900 || parts.tm_year > 9999 - 1900)
        return std::to_string(unix_ms);
    std::array<char, 96> text{};
    int length = std::snprintf(text.data(), text.size(), "%04d-%02d-%02d %02d:%02d", parts.tm_year + 1900,
                               parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min);
    std::string out(text.data(), static_cast<std::size_t>(length));
    if (precision == DatePrecision::milliseconds) {
        length = std::snprintf(text.data(), text.size(), ":%02d.%03d", parts.tm_sec, ms);
        out.append(text.data(), static_cast<std::size_t>(length));
    }
    return zone == Zone::utc ? out + " UTC" : out;
}

} // namespace holdfast::base
