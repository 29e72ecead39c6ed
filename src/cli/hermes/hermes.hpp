// `holdfast hermes`: the memory provider into a Hermes home, and out of it again.
#pragma once

#include "cli/shared/options.hpp"

namespace holdfast::cli {

std::span<const Option> hermes_options();
int hermes_command(const Arguments& arguments);

} // namespace holdfast::cli
