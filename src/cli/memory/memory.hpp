// holdfast memory …: the memory helper for people. The helper itself is a program of its own,
// holdfast-memory, which these commands start: it attaches to the home's owner when there is one, so nothing
// ever writes beside it.
#pragma once

#include "cli/shared/options.hpp"

#include "json/json.hpp"

#include <optional>
#include <span>
#include <string>

namespace holdfast::cli {

std::span<const Command> memory_commands();

int memory_serve_command(const Arguments& arguments);
int memory_daemon_command(const Arguments& arguments);
int memory_mcp_command(const Arguments& arguments);
int memory_search_command(const Arguments& arguments);
int memory_add_command(const Arguments& arguments);
int memory_show_command(const Arguments& arguments);
int memory_forget_command(const Arguments& arguments);
int memory_sessions_command(const Arguments& arguments);
int memory_episodes_command(const Arguments& arguments);
int memory_open_command(const Arguments& arguments);
int memory_status_command(const Arguments& arguments);
int memory_check_command(const Arguments& arguments);
int memory_export_command(const Arguments& arguments);
int memory_import_command(const Arguments& arguments);

// --home, or the home of the profile, as an absolute path; nothing is created.
Result<std::string> memory_home(const Arguments& arguments);
// The same for a command that only reads: one where somebody has begun a memory. Otherwise that is said, and
// there is nothing (exit_not_running): a word mistyped must not become an empty memory, or an empty backup.
std::optional<std::string> existing_memory_home(const Arguments& arguments, int& exit_code);
bool is_memory_home(const std::string& home);
// The path of holdfast-memory: HOLDFAST_MEMORY, else as sys::find_own_program looks for it.
Result<std::string> find_memory_program();
// What holdfast-memory says of a home without becoming its owner: the owner's health, or what the files say
// (phase "closed", "stopped" or "silent").
Result<json::object> look_at_memory(const std::string& home);
// Where the home's viewer listens, or empty: what its owner says. What opens it is a link (memory open).
std::string viewer_address(const std::string& home);

} // namespace holdfast::cli
