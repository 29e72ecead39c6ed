// Waiting for a file that another process puts in place by rename: an event, not a poll.
#pragma once

#include "harness/deadline.hpp"
#include "holdfast/result.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::harness {

// The content of `path` as soon as it exists and is not empty; its directory must exist.
Result<std::string> wait_for_file(const std::string& path, const Deadline& deadline);

// The numbers in a line "ready <pid> [more pids]", as every animal of the zoo says it; protocol when the line
// is another.
Result<std::vector<pid_t>> parse_ready(const std::string& line);

} // namespace holdfast::harness
