// What the table of commands says, as help, as a manual page, and as shell completion.
#pragma once

#include "cli/shared/options.hpp"

#include <span>
#include <string>

namespace holdfast::cli {

std::string overview();                             // holdfast --help
std::string group_overview(std::string_view group); // holdfast memory --help
std::string help_of(const Command& command);        // holdfast CMD --help
std::string manual_page();                          // roff, for man(1)
std::string completion(std::string_view shell);     // bash, zsh or fish; empty for others

// Prints the names of helpers and slots that may follow these words, which were typed after `holdfast`, one a
// line.
int print_names(std::span<const std::string> words);

} // namespace holdfast::cli
