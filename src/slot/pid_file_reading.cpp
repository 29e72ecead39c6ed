#include "slot/pid_file_reading.hpp"

#include "sys/proc.hpp"

#include <sys/stat.h>

namespace holdfast::slot {

namespace {
constexpr std::size_t max_pid_file_bytes = 65536;
}

std::optional<std::string> read_pid_file_text(const std::string& path) {
    struct stat file{};
    // A pipe or a device would have us wait for what it says.
    if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode))
        return std::nullopt;
    return sys::read_small_file(path, max_pid_file_bytes);
}

std::optional<records::PidFileEntry> read_pid_file(const std::string& path) {
    auto text = read_pid_file_text(path);
    return text ? records::parse_pid_file(*text) : std::nullopt;
}

} // namespace holdfast::slot
