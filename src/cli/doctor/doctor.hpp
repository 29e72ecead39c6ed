// The commands about processes that nobody keeps: doctor, reap.
#pragma once

#include "cli/shared/options.hpp"

namespace holdfast::cli {

std::span<const Option> doctor_options();
int doctor_command(const Arguments& arguments);
std::span<const Option> reap_options();
int reap_command(const Arguments& arguments);

} // namespace holdfast::cli
