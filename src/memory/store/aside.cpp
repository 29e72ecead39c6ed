#include "memory/store/aside.hpp"

#include "core/text.hpp"
#include "memory/store/ids.hpp"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace holdfast::memory {

using core::cat;

// The database, its WAL and its shared-memory file move together: apart they would be worthless or
// misleading.
Result<std::string> put_aside(const std::string& path) {
    std::string target = cat(path, ".corrupt-", now_ms());
    if (std::rename(path.c_str(), target.c_str()) != 0)
        return fail(Errc::io, cat("the corrupt database ", path, " could not be kept aside; move it by hand"),
                    errno);
    (void)std::rename((path + "-wal").c_str(), (target + "-wal").c_str());
    (void)std::rename((path + "-shm").c_str(), (target + "-shm").c_str());
    return target;
}

std::string kept_aside(const std::string& path) {
    const auto folder = path.substr(0, path.rfind('/') + 1);
    const auto begin = cat(path.substr(folder.size()), ".corrupt-");
    std::string newest;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.empty() ? "." : folder.c_str()),
                                                      ::closedir);
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        if (name.starts_with(begin) && name.find_first_not_of("0123456789", begin.size()) == name.npos)
            newest = std::max(newest, cat(folder, name));
    }
    return newest;
}

} // namespace holdfast::memory
