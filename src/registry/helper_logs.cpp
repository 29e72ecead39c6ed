#include "registry/helper_logs.hpp"

#include "base/text.hpp"
#include "records/paths.hpp"
#include "sys/directories.hpp"
#include "sys/lock_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

namespace holdfast::registry {

namespace {

struct CloseDir {
    void operator()(DIR* dir) const { ::closedir(dir); }
};

constexpr std::string_view suffix = ".log";
constexpr std::string_view suffix_before = ".log.1";

std::vector<core::LogFacts> logs_in(const std::string& directory) {
    std::map<std::string, core::LogFacts> out;
    const std::unique_ptr<DIR, CloseDir> dir(::opendir(directory.c_str()));
    while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
        const std::string_view name(entry->d_name);
        const std::string_view ending = name.ends_with(suffix) ? suffix : suffix_before;
        struct stat file{};
        if (!name.ends_with(ending) ||
            ::fstatat(::dirfd(dir.get()), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(file.st_mode))
            continue;
        const std::string id(name.substr(0, name.size() - ending.size()));
        core::LogFacts& log = out.try_emplace(id, core::LogFacts{.id = id}).first->second;
        log.bytes += static_cast<std::uint64_t>(file.st_size);
        log.written =
            std::max<std::int64_t>(log.written, file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec);
    }
    std::vector<core::LogFacts> all;
    for (auto& [id, log] : out)
        all.push_back(std::move(log));
    return all;
}

// Somebody owns its entry, or holds its life: it may still write.
bool runs(const places::Places& places, const std::string& id) {
    auto sight = sys::LockFile::look(records::lock_path({.directory = places.helpers, .name = id}));
    return !sight || sight->owned || sight->life_held;
}

} // namespace

std::string log_directory(const places::Places& places) {
    return base::cat(places.state, "/logs");
}

std::vector<std::string> logged_ids(const places::Places& places) {
    std::vector<std::string> out;
    for (core::LogFacts& log : logs_in(log_directory(places)))
        out.push_back(std::move(log.id));
    return out;
}

Result<std::string> place_for_log(const places::Places& places, const std::string& id,
                                  const core::LogLimits& limits) {
    if (auto ok = places.check_store("a log of stderr"); !ok)
        return std::unexpected(ok.error());
    const std::string directory = log_directory(places);
    if (auto made = sys::make_directories(directory); !made)
        return std::unexpected(made.error());
    if (auto ok = sys::check_private_directory(directory); !ok)
        return std::unexpected(ok.error());
    for (const std::string& old : core::logs_beyond(logs_in(directory), limits)) {
        if (old == id || runs(places, old))
            continue;
        const std::string path = base::cat(directory, '/', old);
        ::unlink((path + std::string(suffix_before)).c_str());
        ::unlink((path + std::string(suffix)).c_str());
    }
    return base::cat(directory, '/', id, suffix);
}

} // namespace holdfast::registry
