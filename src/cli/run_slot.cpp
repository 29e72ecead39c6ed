#include "cli/run_slot.hpp"

#include "cli/print.hpp"
#include "cli/settings.hpp"
#include "cli/slot_json.hpp"
#include "core/names.hpp"
#include "core/pid_file.hpp"
#include "core/text.hpp"
#include "sys/memory_trim.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

namespace holdfast::cli {

namespace {

IfHeld policy_of(const Arguments& arguments) {
    std::string word = arguments.value("if-held").value_or("refuse");
    if (word == "wait")
        return IfHeld::wait;
    if (word == "replace")
        return IfHeld::replace;
    if (word == "attach")
        return IfHeld::attach;
    return IfHeld::refuse;
}

void print_owner(const SlotInfo& owner, bool as_json) {
    if (as_json)
        print(to_json(owner) + "\n");
    else if (!owner.address.empty())
        print(owner.address + "\n");
    else
        print(core::cat("pid ", owner.owner_pid, '\n'));
}

// Somebody who is not ours holds what we are to take: by the word of a PID file, as far as it is proven.
Result<bool> settle_foreign_holder(const Arguments& arguments, const AcquireOptions& options,
                                   const registry::EventLog& events) {
    auto path = arguments.value("adopt");
    if (!path)
        return true;
    auto holder = slot::find_foreign_holder(*path, arguments.value("adopt-match").value_or(""));
    if (!holder)
        return std::unexpected(holder.error());
    if (!*holder)
        return true;
    const slot::ForeignHolder& found = **holder;
    std::string who = core::cat("process ", found.process.pid(), " (", found.command, ")");
    if (!found.proven) {
        complain(core::cat("warning: ", *path, " names ", who,
                           ", but nothing proves that it is the holder; it is left alone. Use --adopt-match "
                           "REGEX if it is"));
        return true;
    }
    switch (options.if_held) {
    case IfHeld::refuse:
        return fail(Errc::held,
                    core::cat("held by ", who, ", as ", *path, " says; it was started without Holdfast"));
    case IfHeld::attach:
        print(core::cat("pid ", found.process.pid(), '\n'));
        return false;
    case IfHeld::wait:
        if (!found.process.wait_ended(options.wait ? sys::Deadline::in(*options.wait)
                                                   : sys::Deadline::never()))
            return fail(Errc::timed_out, core::cat("still held by ", who, ", as ", *path, " says"));
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
    return true;
}

} // namespace

Result<EnteredSlot> enter_slot(const Arguments& arguments, const registry::EventLog& events) {
    EnteredSlot out;
    auto name = arguments.value("slot");
    if (!name) {
        for (const char* option :
             {"if-held", "wait", "stall", "slot-dir", "pidfile", "pidfile-format", "adopt", "adopt-match"})
            if (arguments.has(option))
                return fail(Errc::invalid_argument,
                            core::cat("--", std::string_view(option), " goes with --slot NAME"));
        return out;
    }
    if (auto ok = core::check_slot_name(*name); !ok)
        return std::unexpected(ok.error());
    for (auto [option, with] : {std::pair("pidfile-format", "pidfile"), std::pair("adopt-match", "adopt")})
        if (arguments.has(option) && !arguments.has(with))
            return fail(Errc::invalid_argument,
                        core::cat("--", std::string_view(option), " goes with --", std::string_view(with)));
    AcquireOptions options;
    options.if_held = policy_of(arguments);
    options.argv = arguments.command;
    options.session = arguments.value("session").value_or("");
    auto wait = duration_option(arguments, "wait");
    auto grace = duration_option(arguments, "grace");
    auto stall = duration_option(arguments, "stall");
    for (const auto* option : {&wait, &grace, &stall})
        if (!*option)
            return std::unexpected(option->error());
    options.wait = *wait;
    options.grace = grace->value_or(options.grace);
    options.stall = stall->value_or(options.stall);
    auto directory = slot_directory(arguments);
    if (!directory)
        return std::unexpected(directory.error());
    if (auto ok = prepare_directory(*directory); !ok)
        return std::unexpected(ok.error());

    if (options.if_held == IfHeld::wait)
        sys::drop_code_pages(); // this may be a wait of hours
    auto acquired = acquire({.directory = *directory, .name = *name}, options);
    if (!acquired) {
        if (acquired.error().code == Errc::held || acquired.error().code == Errc::too_many_takeovers)
            events.append({.unix_ms = 0,
                           .type = "refused",
                           .id = {},
                           .label = *name,
                           .pid = 0,
                           .reason = std::string(name_of(acquired.error().code)),
                           .status = {}});
        return std::unexpected(acquired.error());
    }
    if (!acquired->ownership) {
        print_owner(acquired->attached_to, arguments.has("json"));
        out.attached = true;
        return out;
    }
    out.ownership = std::move(acquired->ownership);
    auto settled = settle_foreign_holder(arguments, options, events);
    if (!settled)
        return std::unexpected(settled.error());
    if (!*settled) {
        out.attached = true;
        return out;
    }
    if (auto path = arguments.value("pidfile")) {
        auto stat = sys::read_stat(::getpid());
        std::string text =
            arguments.value("pidfile-format") == "json"
                ? core::json_pid_file(::getpid(), stat ? stat->start_ticks : 0, arguments.command, *name)
                : core::plain_pid_file(::getpid());
        auto written = slot::PidFile::write(*path, text);
        if (!written)
            return std::unexpected(written.error());
        out.pid_file.emplace(std::move(*written));
    }
    return out;
}

} // namespace holdfast::cli
