// A PID namespace of its own for a helper: when its first process ends, the kernel ends all others inside.
#pragma once

#include "sys/spawn.hpp"

#include <string>
#include <vector>

namespace holdfast::keep {

inline constexpr const char* namespace_word = "--inside-pid-namespace";

// How to start `command` inside: through this very program, which makes the namespace and is its init.
sys::SpawnSpec inside_pid_namespace(const std::vector<std::string>& command);

// The program behind it: argv is {self, namespace_word, "--", command...}. Returns the command's exit status.
int namespace_main(int argc, char** argv);

} // namespace holdfast::keep
