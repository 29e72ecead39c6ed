#include "memory/writer/aside.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace holdfast::memory {

using base::cat;

namespace {

// What belongs to a database, by the end of its name.
constexpr std::array beside = {"-wal", "-shm", "-journal"};
constexpr std::string_view digits = "0123456789";

std::int64_t size_of(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : -1;
}

// One page of zeros, of the size that the log's head says: the log has every page that counts, or the
// database cannot be read anyway.
Result<void> make_empty_page(const std::string& path, const std::string& log) {
    std::array<unsigned char, 12> head{};
    const sys::Fd from(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
    std::uint32_t page = 4096;
    if (from && ::read(from.get(), head.data(), head.size()) == static_cast<ssize_t>(head.size()))
        page = std::uint32_t{head[8]} << 24U | std::uint32_t{head[9]} << 16U | std::uint32_t{head[10]} << 8U |
               head[11];
    if (page < 512 || page > 65536)
        page = 4096;
    const sys::Fd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!made || ::ftruncate(made.get(), page) != 0)
        return sys::fail_sys(cat("create ", path));
    return {};
}

} // namespace

std::string free_name(const std::string& path, std::string_view why) {
    for (auto time = now_ms();; ++time) {
        auto name = cat(path, why, time);
        if (size_of(name) < 0 &&
            std::ranges::all_of(beside, [&](const char* end) { return size_of(name + end) < 0; }))
            return name;
    }
}

bool has_log_alone(const std::string& path) {
    return size_of(path) <= 0 && size_of(path + "-wal") > 0;
}

// The database, its log and its shared-memory file move together: apart they would be worthless or
// misleading.
Result<std::string> put_aside(const std::string& path) {
    const auto log = path + "-wal";
    const bool log_alone = has_log_alone(path);
    auto target = kept_aside(path);
    if (!log_alone || size_of(path) >= 0 || target.empty() || size_of(target + "-wal") >= 0)
        target = free_name(path);
    if (std::rename(path.c_str(), target.c_str()) != 0 && (!log_alone || errno != ENOENT))
        return sys::fail_sys(cat("the corrupt database ", path, " could not be kept aside; move it by hand"));
    if (log_alone && size_of(target) <= 0)
        if (auto made = make_empty_page(target, log); !made)
            return std::unexpected(std::move(made.error()));
    for (const char* end : beside)
        if (std::rename((path + end).c_str(), (target + end).c_str()) != 0 && errno != ENOENT)
            return sys::fail_sys(cat("what belongs to the corrupt database ", path,
                                     " could not be kept aside; move it by hand: ", path, end));
    return target;
}

std::string kept_aside(const std::string& path, std::string_view why) {
    const auto folder = path.substr(0, path.rfind('/') + 1);
    const auto begin = cat(path.substr(folder.size()), why);
    std::string newest;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.empty() ? "." : folder.c_str()),
                                                      ::closedir);
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        if (name.starts_with(begin) && name.find_first_not_of(digits, begin.size()) == name.npos)
            newest = std::max(newest, cat(folder, name));
    }
    return newest;
}

} // namespace holdfast::memory
