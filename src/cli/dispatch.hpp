// From the command line to the command.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

// `words`: as in argv, with the program's name. Runs the command, or shows its help, and gives the exit code.
int dispatch(const std::vector<std::string>& words);

} // namespace holdfast::cli
