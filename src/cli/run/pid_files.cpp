#include "cli/run/pid_files.hpp"

#include "base/text.hpp"
#include "cli/shared/print.hpp"
#include "records/pid_file.hpp"
#include "slot/foreign_holder.hpp"
#include "sys/proc.hpp"
#include "sys/whole_file.hpp"

#include <unistd.h>

namespace holdfast::cli {

Result<void> check_pid_file(const Arguments& arguments, const SlotLocation& location) {
    auto path = arguments.value("pidfile");
    if (!path)
        return {};
    if (auto ok = sys::check_place_for(*path); !ok)
        return ok;
    if (arguments.value("adopt") == path)
        return {}; // what it says is settled there
    auto named = slot::named_by_pid_file(*path);
    if (!named)
        return {};
    if (auto info = query(location); info && info->owner_pid == named->pid)
        return {}; // it goes with the owner
    return fail(Errc::cannot_create,
                base::cat("the PID file ", *path, " is of ", named->who,
                          ", which lives; it is left as it is. Name another file, or take over from that "
                          "process: --adopt ",
                          *path));
}

std::optional<slot::PidFileText> pid_file_text(const Arguments& arguments) {
    auto path = arguments.value("pidfile");
    if (!path)
        return std::nullopt;
    auto stat = sys::read_stat(::getpid());
    return slot::PidFileText{.path = *path,
                             .text = arguments.value("pidfile-format") == "json"
                                         ? records::json_pid_file(::getpid(), stat ? stat->start_ticks : 0,
                                                                  arguments.command,
                                                                  arguments.value("slot").value_or(""))
                                         : records::plain_pid_file(::getpid())};
}

Result<std::optional<SlotInfo>> settle_foreign_holder(const Arguments& arguments,
                                                      const AcquireOptions& options, host::HostWatch& host,
                                                      const registry::EventLog& events) {
    auto path = arguments.value("adopt");
    if (!path)
        return std::nullopt;
    auto holder = slot::find_foreign_holder(*path, arguments.value("adopt-match").value_or(""));
    if (!holder)
        return std::unexpected(holder.error());
    if (!*holder)
        return std::nullopt;
    const slot::ForeignHolder& found = **holder;
    std::string who = base::cat("process ", found.process.pid(), " (", found.command, ")");
    if (!found.proven) {
        complain(base::cat("warning: ", *path, " names ", who, ", but ", found.doubt,
                           "; it is left alone. If it is the holder, use --adopt-match REGEX"));
        return std::nullopt;
    }
    switch (options.if_held) {
    case IfHeld::refuse:
        return fail(Errc::held,
                    base::cat("held by ", who, ", as ", *path, " says; it was started without Holdfast"));
    case IfHeld::attach:
        return SlotInfo{
            .name = *arguments.value("slot"), .state = SlotState::owned, .owner_pid = found.process.pid()};
    case IfHeld::wait:
        if (auto gone = slot::wait_for_foreign_holder(
                found, options.wait ? sys::Deadline::in(*options.wait) : sys::Deadline::never(), host);
            !gone)
            return fail(gone.error().code, base::cat("still held by ", who, ", as ", *path, " says"));
        break;
    case IfHeld::replace:
        if (auto ended = slot::end_foreign_holder(found, options.grace); !ended)
            return std::unexpected(ended.error());
        break;
    }
    events.append({.unix_ms = 0,
                   .type = "adopted",
                   .id = {},
                   .label = arguments.value("slot").value_or(""),
                   .pid = found.process.pid(),
                   .reason = *path,
                   .status = {}});
    return std::nullopt;
}

} // namespace holdfast::cli
