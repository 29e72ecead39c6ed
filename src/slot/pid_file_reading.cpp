#include "slot/pid_file_reading.hpp"

#include "sys/proc.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

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

double start_unix_seconds(std::uint64_t ticks) {
    auto stat = sys::read_small_file("/proc/stat", std::size_t{1} << 22).value_or("");
    std::size_t at = stat.find("btime ");
    double boot = at == std::string::npos ? 0 : std::strtod(stat.c_str() + at + 6, nullptr);
    return boot + static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

} // namespace holdfast::slot
