// Which logs of helpers are kept: those of all that run, and of the ended ones the newest, up to a number and
// a size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::core {

struct LogFacts {
    std::string id;           // of the helper's entry
    std::uint64_t bytes = 0;  // of the log and the one before it
    std::int64_t written = 0; // when it was written to last; any clock, only the order counts
};

struct LogLimits {
    std::size_t count = 100;
    std::uint64_t bytes = std::uint64_t{256} << 20;
};

// Of the ended ones: those that are beyond a limit when the newest are counted first. Which of them run is
// the caller's to find out, and to leave out.
std::vector<std::string> logs_beyond(std::vector<LogFacts> logs, const LogLimits& limits);

} // namespace holdfast::core
