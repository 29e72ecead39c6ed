// Where the name of a command leads to.
#pragma once

#include "holdfast/result.hpp"

#include <string>
#include <vector>

namespace holdfast::sys {

// The paths that are tried in turn, as execvp(3) does: the name itself when it has a '/', else below each
// directory of PATH.
std::vector<std::string> program_candidates(const std::string& name);

// Whether it is a plain file that we may execute.
bool may_execute(const std::string& path);

// Whether one of them can be executed, for who must know before it changes anything. Error: cannot_start,
// with the same `sys` and words as spawn() would give. Only the attempt itself is the truth: a file may be
// executable and yet no program.
Result<void> check_program(const std::string& name);

} // namespace holdfast::sys
