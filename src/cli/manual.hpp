// What the table of commands says, as help, as a manual page, and as shell completion.
#pragma once

#include "cli/options.hpp"

#include <string>

namespace holdfast::cli {

std::string overview();                             // holdfast --help
std::string group_overview(std::string_view group); // holdfast memory --help
std::string help_of(const Command& command);        // holdfast CMD --help
std::string manual_page();                          // roff, for man(1)
std::string completion(std::string_view shell);     // bash, zsh or fish; empty for others

} // namespace holdfast::cli
