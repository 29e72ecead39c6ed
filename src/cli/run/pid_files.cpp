#include "cli/run/pid_files.hpp"

#include "base/text.hpp"
#include "cli/shared/print.hpp"
#include "records/pid_file.hpp"
#include "slot/foreign_holder.hpp"
#include "sys/proc.hpp"
#include "sys/whole_file.hpp"

#include <unistd.h>

namespace holdfast::cli {

Result<void> check_pid_file(const SlotPlan& slot, const SlotLocation& location) {
    if (!slot.pid_file)
        return {};
    const std::string& path = slot.pid_file->path;
    if (auto ok = sys::check_place_for(path); !ok)
        return ok;
    if (slot.adopt && slot.adopt->path == path)
        return {}; // what it says is settled there
    auto named = slot::named_by_pid_file(path);
    if (!named)
        return {};
    if (auto info = query(location); info && info->owner_pid == named->pid)
        return {}; // it goes with the owner
    return fail(Errc::cannot_create,
                base::cat("the PID file ", path, " is of ", named->who,
                          ", which lives; it is left as it is. Name another file, or take over from that "
                          "process: --adopt ",
                          path));
}

slot::PidFileText pid_file_text(const SlotPlan& slot, const std::vector<std::string>& command) {
    const pid_t self = ::getpid();
    if (!slot.pid_file->json)
        return {.path = slot.pid_file->path, .text = records::plain_pid_file(self)};
    auto stat = sys::read_stat(self);
    return {.path = slot.pid_file->path,
            .text = records::json_pid_file(self, stat ? stat->start_ticks : 0, command, slot.name)};
}

Result<std::optional<SlotInfo>> settle_foreign_holder(const SlotPlan& slot, host::HostWatch& wanted,
                                                      const registry::EventLog& events) {
    if (!slot.adopt)
        return std::nullopt;
    const std::string& path = slot.adopt->path;
    auto holder = slot::find_foreign_holder(path, slot.adopt->match);
    if (!holder)
        return std::unexpected(holder.error());
    if (!*holder)
        return std::nullopt;
    const slot::ForeignHolder& found = **holder;
    std::string who = base::cat("process ", found.process.pid(), " (", found.command, ")");
    if (!found.proven) {
        complain(base::cat("warning: ", path, " names ", who, ", but ", found.doubt,
                           "; it is left alone. If it is the holder, use --adopt-match REGEX"));
        return std::nullopt;
    }
    switch (slot.acquire.if_held) {
    case IfHeld::refuse:
        return fail(Errc::held,
                    base::cat("held by ", who, ", as ", path, " says; it was started without Holdfast"));
    case IfHeld::attach:
        return SlotInfo{.name = slot.name, .state = SlotState::owned, .owner_pid = found.process.pid()};
    case IfHeld::wait:
        if (auto gone = slot::wait_for_foreign_holder(
                found, slot.acquire.wait ? sys::Deadline::in(*slot.acquire.wait) : sys::Deadline::never(),
                wanted);
            !gone)
            return fail(gone.error().code, base::cat("still held by ", who, ", as ", path, " says"));
        break;
    case IfHeld::replace:
        if (auto ended = slot::end_foreign_holder(found, slot.acquire.grace); !ended)
            return std::unexpected(ended.error());
        break;
    }
    events.append({.unix_ms = 0,
                   .type = "adopted",
                   .id = {},
                   .label = slot.name,
                   .pid = found.process.pid(),
                   .reason = path,
                   .status = {}});
    return std::nullopt;
}

} // namespace holdfast::cli
