// The commands about slots: slots, status, wait.
#pragma once

#include "cli/shared/options.hpp"

namespace holdfast::cli {

std::span<const Option> slots_options();
int slots_command(const Arguments& arguments);
std::span<const Option> status_options();
int status_command(const Arguments& arguments);
std::span<const Option> wait_options();
int wait_command(const Arguments& arguments);

} // namespace holdfast::cli
