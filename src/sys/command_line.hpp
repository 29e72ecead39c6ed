// The command line that others see of this process.
#pragma once

#include <string>
#include <vector>

namespace holdfast::sys {

// Shows these words in /proc/PID/cmdline from now on. Where the kernel does not let us, the old ones stay:
// nothing depends on them.
void show_command_line(const std::vector<std::string>& words);

} // namespace holdfast::sys
