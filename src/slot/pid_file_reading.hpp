// Reading PID files, whosever they are.
#pragma once

#include "records/pid_file.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::slot {

// The text of a plain file; nothing when it is none, is too long or cannot be read.
std::optional<std::string> read_pid_file_text(const std::string& path);
std::optional<records::PidFileEntry> read_pid_file(const std::string& path);

} // namespace holdfast::slot
