#include "sys/lock_holders.hpp"

#include "base/text.hpp"
#include "sys/proc.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

namespace holdfast::sys {

namespace {

struct CloseDir {
    void operator()(DIR* dir) const { ::closedir(dir); }
};

// One line of /proc/PID/fdinfo/N is, for example
//   lock:	1: OFDLCK ADVISORY  WRITE -1 fe:00:131073 0 0
// A mere reader of the file has it open without such a line.
bool carries_life(std::string_view fdinfo, std::optional<ino_t> inode, std::string_view kind = "WRITE") {
    std::size_t at = 0;
    while ((at = fdinfo.find("lock:", at)) != std::string_view::npos) {
        std::string_view line = fdinfo.substr(at, fdinfo.find('\n', at) - at);
        at += line.size();
        if (line.find("OFDLCK") == std::string_view::npos || line.find(kind) == std::string_view::npos)
            continue;
        // … MAJOR:MINOR:INODE FIRST LAST
        std::size_t colon = line.rfind(':');
        std::string tail(line.substr(colon + 1));
        char* end = nullptr;
        unsigned long long found = std::strtoull(tail.c_str(), &end, 10);
        unsigned long long first = std::strtoull(end, nullptr, 10);
        if ((!inode || found == *inode) && first == 0)
            return true;
    }
    return false;
}

bool holds(pid_t pid, const struct stat& file, std::string_view kind = "WRITE") {
    std::string base = base::cat("/proc/", pid, "/fd");
    std::unique_ptr<DIR, CloseDir> dir(::opendir(base.c_str()));
    if (!dir)
        return false;
    while (const dirent* entry = ::readdir(dir.get())) {
        if (entry->d_name[0] == '.')
            continue;
        struct stat target{};
        if (::fstatat(::dirfd(dir.get()), entry->d_name, &target, 0) != 0 || target.st_ino != file.st_ino ||
            target.st_dev != file.st_dev)
            continue;
        auto info =
            read_small_file(base::cat("/proc/", pid, "/fdinfo/", std::string_view(entry->d_name)), 65536);
        if (info && carries_life(*info, file.st_ino, kind))
            return true;
    }
    return false;
}

} // namespace

bool holds_life(pid_t pid, const std::string& path) {
    struct stat file{};
    return ::stat(path.c_str(), &file) == 0 && holds(pid, file);
}

std::vector<std::string> lives_held_by(pid_t pid) {
    std::vector<std::string> out;
    std::unique_ptr<DIR, CloseDir> dir(::opendir(base::cat("/proc/", pid, "/fd").c_str()));
    while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
        auto info =
            read_small_file(base::cat("/proc/", pid, "/fdinfo/", std::string_view(entry->d_name)), 65536);
        if (!info || !carries_life(*info, std::nullopt))
            continue;
        std::array<char, 4096> path;
        const ssize_t size = ::readlinkat(::dirfd(dir.get()), entry->d_name, path.data(), path.size());
        if (size > 0 && static_cast<std::size_t>(size) < path.size())
            out.emplace_back(path.data(), static_cast<std::size_t>(size));
    }
    return out;
}

namespace {
std::vector<pid_t> find_all(const std::string& path, std::string_view kind) {
    std::vector<pid_t> out;
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return out;
    for (pid_t pid : all_pids())
        if (pid != ::getpid() && holds(pid, file, kind))
            out.push_back(pid);
    return out;
}
} // namespace

std::vector<pid_t> find_life_holders(const std::string& path) {
    return find_all(path, "WRITE");
}

std::vector<PidFd> hold_life_readers(const std::string& path) {
    std::vector<PidFd> out;
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return out;
    for (pid_t pid : find_all(path, "READ"))
        if (auto process = PidFd::open(pid); process && holds(pid, file, "READ"))
            out.push_back(std::move(*process));
    return out;
}

bool is_hidden(pid_t pid) {
    const std::unique_ptr<DIR, CloseDir> dir(::opendir(base::cat("/proc/", pid, "/fd").c_str()));
    return !dir && (errno == EACCES || errno == EPERM);
}

} // namespace holdfast::sys
