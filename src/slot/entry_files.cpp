#include "slot/entry_files.hpp"

#include "base/text.hpp"
#include "records/paths.hpp"
#include "slot/contender.hpp"
#include "sys/errors.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace holdfast::slot {

Result<std::vector<std::string>> entry_ids(const std::string& directory) {
    struct CloseDir {
        void operator()(DIR* dir) const { ::closedir(dir); }
    };
    std::vector<std::string> out;
    std::unique_ptr<DIR, CloseDir> dir(::opendir(directory.c_str()));
    if (!dir && errno == ENOENT)
        return out;
    // A directory that may be read but not searched has names, and nothing behind them can be looked at.
    if (!dir || ::faccessat(::dirfd(dir.get()), ".", X_OK, AT_EACCESS) != 0)
        return sys::fail_sys(base::cat("read the directory ", directory));
    while (const dirent* entry = ::readdir(dir.get())) {
        std::string_view file(entry->d_name);
        if (file.ends_with(records::lock_suffix))
            out.emplace_back(file.substr(0, file.size() - records::lock_suffix.size()));
    }
    return out;
}

std::optional<Ownership> claim_unowned(const std::string& directory, const std::string& id) {
    Contender contender({.directory = directory, .name = id}, {.wait = Millis{0}},
                        {.create = false, .inherit_record = true});
    auto mine = contender.run();
    return mine ? std::move(mine->ownership) : std::nullopt;
}

void remove_entry_files(const SlotLocation& entry) {
    ::unlink(stuck_note_path(entry).c_str());
    ::unlink(records::record_path(entry).c_str());
    ::unlink((records::record_path(entry) + ".tmp").c_str());
    ::unlink(records::lock_path(entry).c_str());
}

void remove_unowned(const std::string& directory, const std::string& id) {
    // Only whoever owns it may remove it: a fresh starter of this id would notice its file gone and make
    // another.
    if (auto mine = claim_unowned(directory, id))
        remove_entry_files(mine->location());
}

std::string stuck_note_path(const SlotLocation& entry) {
    return base::cat(entry.directory, '/', entry.name, ".stuck");
}

} // namespace holdfast::slot
