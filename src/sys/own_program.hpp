// Our own programs: this one, and those that were installed with it.
#pragma once

#include "holdfast/result.hpp"

#include <string>
#include <vector>

namespace holdfast::sys {

// The file of the running program; empty when /proc does not tell.
std::string own_program_path();
// A relative path as seen from the working directory. Errors: those of getcwd(3).
Result<std::string> absolute_path(const std::string& path);

// Where `name` is: what the environment's `variable` names; else beside one of `ours` (files that were
// installed with it: this program, this library), or in ../bin, ../libexec/holdfast or ../../bin from there;
// else in PATH. An absolute path. `ours_for_people` is for the message. Error: not_found (with ENOENT).
Result<std::string> find_own_program(const char* name, const char* variable,
                                     const std::vector<std::string>& ours, const char* ours_for_people);

} // namespace holdfast::sys
