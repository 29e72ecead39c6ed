// holdfast run: a command, kept.
#pragma once

#include "cli/shared/options.hpp"

namespace holdfast::cli {

std::span<const Option> run_options();
int run_command(const Arguments& arguments);

} // namespace holdfast::cli
