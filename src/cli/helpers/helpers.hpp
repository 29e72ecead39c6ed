// The commands about helpers: ps, top, stop, logs, events.
#pragma once

#include "cli/shared/options.hpp"

namespace holdfast::cli {

std::span<const Option> ps_options();
int ps_command(const Arguments& arguments);
std::span<const Option> top_options();
int top_command(const Arguments& arguments);
std::span<const Option> stop_options();
int stop_command(const Arguments& arguments);
std::span<const Option> logs_options();
int logs_command(const Arguments& arguments);
std::span<const Option> events_options();
int events_command(const Arguments& arguments);

} // namespace holdfast::cli
