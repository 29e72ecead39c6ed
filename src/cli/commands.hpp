// The table of all commands: nothing else knows them all. Help, manual and completion are made from it.
#pragma once

#include "cli/shared/options.hpp"

#include <span>
#include <string_view>

namespace holdfast::cli {

// In the order of the help.
std::span<const Command> commands();
const Command* find_command(std::string_view name);
// The first word of commands that have two, such as "memory".
bool is_group(std::string_view word);

} // namespace holdfast::cli
