#include "slot/sight.hpp"

#include "base/duration.hpp"
#include "base/names.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "records/paths.hpp"
#include "records/record_file.hpp"
#include "sys/clock.hpp"
#include "sys/errors.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

namespace holdfast {

namespace slot {

namespace {

SlotState state_of(const sys::LockSight& sight) {
    if (sight.owned)
        return SlotState::owned;
    return sight.life_held ? SlotState::orphaned : SlotState::free;
}

Millis age_of(std::int64_t since, std::int64_t now) {
    return Millis{since > 0 && since <= now ? now - since : 0};
}

} // namespace

SlotInfo describe(const SlotLocation& location, const sys::LockSight& sight,
                  const std::optional<base::Record>& record, bool ask_owner) {
    SlotInfo out;
    out.name = location.name;
    out.state = state_of(sight);
    out.owner_pid = sight.owned ? sight.owner_pid : 0;
    out.owner_in_other_namespace = sight.owned && sight.owner_pid == 0;
    out.epoch = sight.epoch;
    if (ask_owner && out.owner_pid > 0) {
        const auto process = sys::read_stat(out.owner_pid);
        out.owner_stopped = process && process->state == 'T';
    }
    if (out.state == SlotState::orphaned)
        for (pid_t pid : sys::find_life_holders(records::lock_path(location)))
            out.leftovers.push_back({.pid = pid, .command = sys::command_line_for_people(pid)});
    if (!record)
        return out;

    out.has_record = true;
    out.record_is_current = sight.owned && record->epoch == sight.epoch;
    out.phase = record->phase;
    out.status = record->status;
    out.progress_done = record->progress_done;
    out.progress_total = record->progress_total;
    out.since_unix_ms = record->since_unix_ms;
    out.argv = record->argv;
    out.address = record->address;
    out.version = record->version;
    out.session = record->session;
    if (record->identity.boot_id == sys::boot_id()) {
        std::int64_t now = sys::boottime_ms();
        out.age = age_of(record->since, now);
        out.progress_age = age_of(record->progress_at, now);
    }
    return out;
}

std::string owner_for_people(const SlotInfo& info) {
    if (info.owner_in_other_namespace)
        return "a process in another PID namespace (another container), which cannot be signalled from here";
    std::string command = info.record_is_current && !info.argv.empty()
                              ? sys::join_command(info.argv)
                              : sys::command_line_for_people(info.owner_pid);
    std::string out = base::cat("process ", info.owner_pid, " (", base::printable(command), ")");
    if (info.record_is_current)
        out += base::cat(", ", name_of(info.phase), ", running for ", base::format_duration(info.age));
    else
        out += ", just starting";
    if (info.owner_stopped)
        out += base::cat(", stopped (kill -CONT ", info.owner_pid, " continues it)");
    return out;
}

} // namespace slot

Result<SlotInfo> query(const SlotLocation& location) {
    if (auto ok = base::check_slot_name(location.name); !ok)
        return std::unexpected(ok.error());
    auto sight = sys::LockFile::look(records::lock_path(location));
    if (!sight)
        return std::unexpected(sight.error());
    return slot::describe(location, *sight, records::read_record(location));
}

Result<std::vector<SlotInfo>> list_slots(const std::string& directory) {
    struct CloseDir {
        void operator()(DIR* dir) const { ::closedir(dir); }
    };
    std::vector<SlotInfo> out;
    std::unique_ptr<DIR, CloseDir> dir(::opendir(directory.c_str()));
    if (!dir) {
        if (errno == ENOENT)
            return out;
        return sys::fail_sys(base::cat("read the directory ", directory));
    }
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(dir.get())) {
        std::string_view file(entry->d_name);
        struct stat what{};
        if (!file.ends_with(".lock") || !base::check_slot_name(file.substr(0, file.size() - 5)))
            continue;
        // What is no plain file can be nobody's lock, whatever it is called.
        if (::fstatat(::dirfd(dir.get()), entry->d_name, &what, AT_SYMLINK_NOFOLLOW) == 0
                ? S_ISREG(what.st_mode)
                : errno == EACCES)
            names.emplace_back(
                file.substr(0, file.size() - 5)); // of what may not be looked at, query() says so
    }
    std::sort(names.begin(), names.end());
    for (std::string& name : names) {
        auto info = query({.directory = directory, .name = std::move(name)});
        if (!info)
            return std::unexpected(info.error());
        out.push_back(std::move(*info));
    }
    return out;
}

} // namespace holdfast
