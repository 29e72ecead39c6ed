// holdfast memory …: the memory helper for people. The helper itself is a program of its own,
// holdfast-memory, which these commands start: it attaches to the home's owner when there is one, so nothing
// ever writes beside it.
#pragma once

#include "cli/options.hpp"

#include <span>

namespace holdfast::cli {

std::span<const Command> memory_commands();

int memory_serve_command(const Arguments& arguments);
int memory_daemon_command(const Arguments& arguments);
int memory_mcp_command(const Arguments& arguments);
int memory_search_command(const Arguments& arguments);
int memory_add_command(const Arguments& arguments);
int memory_status_command(const Arguments& arguments);
int memory_check_command(const Arguments& arguments);
int memory_export_command(const Arguments& arguments);
int memory_import_command(const Arguments& arguments);

// --home, or the home of the profile, as an absolute path; nothing is created.
Result<std::string> memory_home(const Arguments& arguments);
// The path of holdfast-memory: HOLDFAST_MEMORY, beside this program, in ../libexec/holdfast, or in PATH.
Result<std::string> find_memory_program();
// The address of the home's viewer with its token, or empty: what its owner says.
std::string viewer_address(const std::string& home);

} // namespace holdfast::cli
