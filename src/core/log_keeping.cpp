#include "core/log_keeping.hpp"

#include <algorithm>
#include <tuple>

namespace holdfast::core {

std::vector<std::string> logs_beyond(std::vector<LogFacts> logs, const LogLimits& limits) {
    std::ranges::sort(logs, [](const LogFacts& one, const LogFacts& other) {
        return std::tie(one.written, one.id) > std::tie(other.written, other.id);
    });
    std::vector<std::string> out;
    std::uint64_t bytes = 0;
    for (std::size_t at = 0; at < logs.size(); ++at) {
        bytes += logs[at].bytes;
        if (at >= limits.count || bytes > limits.bytes)
            out.push_back(std::move(logs[at].id));
    }
    return out;
}

} // namespace holdfast::core
