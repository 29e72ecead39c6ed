// Starting the program so that it is traced from its first instruction on.
#pragma once

#include "harness/child.hpp"
#include "holdfast/result.hpp"

#include <sys/types.h>

namespace holdfast::stepper {

// Forks, seizes the child with these ptrace options while it waits, and lets it exec. The caller is its
// tracer and its parent, sees the exec event next, and owns the reaping. When the exec failed the process
// ends with 127.
Result<pid_t> launch_seized(const harness::SpawnSpec& program, long ptrace_options);

} // namespace holdfast::stepper
