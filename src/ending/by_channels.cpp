#include "ending/by_channels.hpp"

#include "base/text.hpp"
#include "sys/clock.hpp"
#include "sys/directories.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace holdfast::ending {

namespace {
std::string link_of(pid_t pid, int fd) {
    std::array<char, 64> out;
    const ssize_t n = ::readlink(base::cat("/proc/", pid, "/fd/", fd).c_str(), out.data(), out.size());
    return {out.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
}
} // namespace

std::vector<std::string> stdio_channels(pid_t pid) {
    std::vector<std::string> out;
    for (int fd : {0, 1})
        if (std::string name = link_of(pid, fd); name.starts_with("pipe:[") || name.starts_with("socket:["))
            out.push_back(std::move(name));
    return out;
}

ChannelHeirs::ChannelHeirs(std::vector<std::string> channels)
    : channels_(std::move(channels))
    , since_(static_cast<std::uint64_t>(sys::boottime_ms()) *
             static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)) / 1000) {}

void ChannelHeirs::find(const Meet& meet) {
    for (const pid_t pid : sys::all_pids()) {
        if (pid == ::getpid() || sys::owner_of_directory(base::cat("/proc/", pid)) != ::geteuid())
            continue;
        auto process = sys::PidFd::open(pid);
        auto stat = sys::read_stat(pid);
        if (!process || !stat || stat->start_ticks < since_ || stat->state == 'Z')
            continue;
        const auto names = stdio_channels(pid);
        if (std::ranges::find_first_of(names, channels_) != names.end() && !process->ended())
            meet({.process = std::move(*process), .of = static_cast<std::size_t>(pid)});
    }
}

} // namespace holdfast::ending
