#include "cli/memory/text.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace holdfast::cli {

std::string moment(std::int64_t ms) {
    const auto seconds = static_cast<std::time_t>(ms / 1000);
    std::tm parts{};
    std::array<char, 64> text{};
    if (::localtime_r(&seconds, &parts) == nullptr || parts.tm_year > 9999 - 1900)
        return std::to_string(ms);
    const int length =
        std::snprintf(text.data(), text.size(), "%04d-%02d-%02d %02d:%02d", parts.tm_year + 1900,
                      parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min);
    return {text.data(), static_cast<std::size_t>(length)};
}

} // namespace holdfast::cli
