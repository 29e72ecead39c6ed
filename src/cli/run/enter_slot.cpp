#include "cli/run/enter_slot.hpp"

#include "base/names.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/run/pid_files.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "cli/shared/slot_json.hpp"
#include "registry/acquire.hpp"
#include "slot/foreign_holder.hpp"
#include "sys/memory_trim.hpp"
#include "sys/program_path.hpp"

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

int print_owner(const SlotInfo& owner, bool as_json) {
    if (as_json)
        return answer_json(to_json(owner));
    if (!owner.address.empty())
        return answer(base::printable(owner.address) + "\n");
    if (owner.owner_in_other_namespace)
        return answer("in another PID namespace\n");
    return answer(base::cat("pid ", owner.owner_pid, '\n'));
}

// What can be told from the words alone.
Result<void> check_words(const Arguments& arguments) {
    if (!arguments.has("slot")) {
        for (const char* option :
             {"if-held", "wait", "stall", "slot-dir", "pidfile", "pidfile-format", "adopt", "adopt-match"})
            if (arguments.has(option))
                return fail(Errc::invalid_argument,
                            base::cat("--", std::string_view(option), " goes with --slot NAME"));
        return {};
    }
    if (auto ok = base::check_slot_name(*arguments.value("slot")); !ok)
        return ok;
    for (auto [option, with] : {std::pair("pidfile-format", "pidfile"), std::pair("adopt-match", "adopt")})
        if (arguments.has(option) && !arguments.has(with))
            return fail(Errc::invalid_argument,
                        base::cat("--", std::string_view(option), " goes with --", std::string_view(with)));
    for (const char* option : {"pidfile", "adopt"})
        if (arguments.value(option) == "")
            return fail(Errc::invalid_argument,
                        base::cat("--", std::string_view(option), " needs the path of a file"));
    return slot::check_match(arguments.value("adopt-match").value_or(""));
}

Result<AcquireOptions> acquire_options(const Arguments& arguments) {
    AcquireOptions out;
    out.if_held = policy_of(arguments);
    out.argv = arguments.command;
    out.session = arguments.value("session").value_or("");
    auto wait = duration_option(arguments, "wait");
    auto grace = duration_option(arguments, "grace");
    auto stall = duration_option(arguments, "stall");
    for (const auto* option : {&wait, &grace, &stall})
        if (!*option)
            return std::unexpected(option->error());
    out.wait = *wait;
    out.grace = grace->value_or(out.grace);
    out.stall = stall->value_or(out.stall);
    return out;
}

} // namespace

std::unexpected<Error> host_went(const Arguments& arguments) {
    return fail(Errc::cancelled,
                base::cat("gave up on the slot \"", arguments.value("slot").value_or(""),
                          "\": the process that wanted it has ended, or has closed its input"));
}

Result<EnteredSlot> enter_slot(const Arguments& arguments, keep::FrontOptions& front,
                               const registry::EventLog& events, const std::function<Result<void>()>& sweep) {
    EnteredSlot out;
    auto name = arguments.value("slot");
    if (auto ok = check_words(arguments); !ok)
        return std::unexpected(ok.error());
    if (!name) {
        if (auto ok = sweep(); !ok)
            return std::unexpected(ok.error());
        return out;
    }
    auto options = acquire_options(arguments);
    if (!options)
        return std::unexpected(options.error());
    if (auto ok = sys::check_program(arguments.command.front()); !ok)
        return std::unexpected(ok.error());
    auto directory = slot_directory(arguments);
    if (!directory)
        return std::unexpected(directory.error());
    if (auto ok = prepare_directory(*directory); !ok)
        return std::unexpected(ok.error());
    const SlotLocation location{.directory = *directory, .name = *name};
    if (auto ok = check_pid_file(arguments, location); !ok)
        return std::unexpected(ok.error());

    if (auto ok = sweep(); !ok)
        return std::unexpected(ok.error());
    auto watch =
        host::HostWatch::of(front.host ? front.host->fd() : -1, front.watch_input ? STDIN_FILENO : -1,
                            front.keeper.plan.stages.front().wait);
    if (!watch)
        return std::unexpected(watch.error());
    out.host = std::move(*watch);
    options->cancel_fd = out.host->fd();
    options->cancel_is_meant = [&host = *out.host] { return host.gone(); };
    options->before_long_wait = sys::drop_code_pages; // it may be one of hours
    // What guards that are killed while we wait leave behind is ended in its turn.
    auto acquired = registry::acquire_telling(
        location, *options,
        {.swept = [&events](const auto& swept) { registry::tell_of_swept(events, swept); },
         .blocked = [](const std::string& by) { complain(base::cat("waiting: ", by)); }});
    if (!acquired) {
        if (acquired.error().code == Errc::held || acquired.error().code == Errc::too_many_takeovers)
            events.append({.unix_ms = 0,
                           .type = "refused",
                           .id = {},
                           .label = *name,
                           .pid = 0,
                           .reason = std::string(name_of(acquired.error().code)),
                           .status = {}});
        if (acquired.error().code == Errc::cancelled)
            return host_went(arguments);
        return std::unexpected(acquired.error());
    }
    if (!acquired->ownership) {
        out.attached = print_owner(acquired->attached_to, arguments.has("json"));
        return out;
    }
    out.ownership = std::move(acquired->ownership);
    auto settled = settle_foreign_holder(arguments, *options, *out.host, events);
    if (!settled && settled.error().code == Errc::cancelled)
        return host_went(arguments);
    if (!settled)
        return std::unexpected(settled.error());
    if (*settled) {
        out.attached = print_owner(**settled, arguments.has("json"));
        return out;
    }
    // Once more: whoever owned the slot before us is gone now, and with it what it may have written.
    if (auto ok = check_pid_file(arguments, location); !ok)
        return std::unexpected(ok.error());
    front.pid_file = pid_file_text(arguments);
    return out;
}

} // namespace holdfast::cli
