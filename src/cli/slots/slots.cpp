#include "cli/slots/slots.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "cli/shared/watching.hpp"
#include "holdfast/slot.hpp"
#include "slot/behind_slot.hpp"
#include "slot/blocked.hpp"
#include "slot/slot_json.hpp"
#include "sys/proc.hpp"
#include "json/json_write.hpp"

#include <cstdlib>

namespace holdfast::cli {

namespace {

constexpr Option for_slots[] = {
    {.name = "slot-dir", .value = "DIR", .help = "look in this directory instead of the profile's"},
    {.name = "json", .value = "", .help = "as JSON"},
    {.name = "watch", .value = "", .help = "show again whenever something changes", .letter = 'w'},
};
constexpr Option for_status[] = {
    {.name = "slot-dir", .value = "DIR", .help = "look in this directory instead of the profile's"},
    {.name = "json", .value = "", .help = "as JSON"},
};
constexpr Option for_wait[] = {
    {.name = "for", .value = "WHAT", .help = "ready or free", .choices = "ready|free"},
    {.name = "wait", .value = "DUR", .help = "at most this long (default: for ever)"},
    {.name = "slot-dir", .value = "DIR", .help = "look in this directory instead of the profile's"},
    {.name = "json", .value = "", .help = "print the slot as JSON"},
};

std::string owner_cell(const SlotInfo& info) {
    if (info.owner_in_other_namespace)
        return "other namespace";
    if (info.state == SlotState::owned)
        return std::to_string(info.owner_pid);
    if (info.state == SlotState::orphaned && info.leftovers.empty())
        return "not to be seen";
    if (info.state == SlotState::orphaned)
        return base::cat(info.leftovers.size(), " left");
    return "-";
}

std::string phase_cell(const SlotInfo& info) {
    if (info.state != SlotState::owned)
        return "-";
    const std::string stopped = info.owner_stopped ? ", stopped" : "";
    if (!info.record_is_current)
        return "starting" + stopped;
    std::string out(name_of(info.phase));
    if (info.phase == Phase::starting && info.progress_done) {
        out += base::cat(' ', info.progress_done);
        if (info.progress_total)
            out += base::cat('/', info.progress_total);
    }
    return out + stopped;
}

std::string command_cell(const SlotInfo& info) {
    if (info.state == SlotState::owned && info.record_is_current)
        return sys::join_command(info.argv);
    if (info.state == SlotState::owned && info.owner_pid)
        return sys::command_line_for_people(info.owner_pid);
    if (!info.leftovers.empty())
        return info.leftovers.front().command;
    return "-";
}

std::string as_json(const json::value& value) {
    return base::printable_json(json::to_text(value)) + "\n";
}

std::string slots_text(const std::vector<SlotInfo>& slots, bool in_json) {
    if (in_json) {
        json::array out;
        for (const SlotInfo& info : slots)
            out.push_back(slot::json_of(info));
        return as_json(out);
    }
    if (slots.empty())
        return "no slots yet; take one with: holdfast run --slot NAME -- CMD\n";
    Table table({"NAME", "STATE", "OWNER", "PHASE", "AGE", "EPOCH", "COMMAND"});
    for (const SlotInfo& info : slots)
        table.add({info.name, std::string(name_of(info.state)), owner_cell(info), phase_cell(info),
                   info.record_is_current ? base::format_duration(info.age) : "-", std::to_string(info.epoch),
                   command_cell(info)});
    return table.text();
}

std::string status_text(const SlotInfo& info, const SlotLocation& location) {
    std::string out = base::cat(info.name, ": ", name_of(info.state));
    auto line = [&out](std::string_view name, std::string_view value) {
        if (!value.empty())
            out += base::cat("\n  ", name, std::string(name.size() < 10 ? 10 - name.size() : 1, ' '),
                             base::printable(value)); // the owner's words, mostly
    };
    if (info.state == SlotState::owned)
        line("owner",
             info.owner_in_other_namespace
                 ? std::string(
                       "in another PID namespace (another container); it cannot be signalled from here")
                 : base::cat("process ", info.owner_pid));
    if (info.state == SlotState::owned) {
        line("phase", phase_cell(info));
        if (info.record_is_current) {
            line("status", info.status);
            line("since", base::format_duration(info.age) + " ago");
            line("address", info.address);
            line("session", info.session);
        }
        line("command", command_cell(info));
    }
    for (const Leftover& leftover : info.leftovers)
        line("left over", base::cat("process ", leftover.pid, " (", leftover.command, ")"));
    if (info.state == SlotState::orphaned && info.leftovers.empty())
        line("held by",
             slot::holders_for_people(location, slot::lost_trees(slot::named_behind(location, info.epoch))));
    else if (info.state == SlotState::orphaned)
        line("to do",
             base::cat(
                 "the next start sees to them (--if-held replace ends them), or end them now: holdfast stop ",
                 info.name));
    if (info.state == SlotState::free && info.has_record)
        line("last", base::cat(sys::join_command(info.argv), " (history; nothing runs)"));
    line("epoch", info.epoch ? std::to_string(info.epoch) : std::string());
    return out + "\n";
}

} // namespace

std::span<const Option> slots_options() {
    return for_slots;
}
std::span<const Option> status_options() {
    return for_status;
}
std::span<const Option> wait_options() {
    return for_wait;
}

int slots_command(const Arguments& arguments) {
    auto directory = slot_directory(arguments);
    if (!directory)
        return fail_with(directory.error());
    const bool in_json = arguments.has("json");
    auto frame = [&] {
        auto slots = list_slots(*directory);
        return slots ? slots_text(*slots, in_json) : slots.error().message + "\n";
    };
    auto slots = list_slots(*directory);
    if (!slots)
        return fail_with(slots.error());
    if (arguments.has("watch"))
        return watch(*directory, stdout_is_terminal(), frame);
    return answer(slots_text(*slots, in_json));
}

int status_command(const Arguments& arguments) {
    auto directory = slot_directory(arguments);
    if (!directory)
        return fail_with(directory.error());
    const SlotLocation location{.directory = *directory, .name = arguments.words[0]};
    auto info = query(location);
    if (!info)
        return fail_with(info.error());
    int code = info->state == SlotState::owned      ? exit_ok
               : info->state == SlotState::orphaned ? exit_orphaned_state
                                                    : exit_not_running;
    return answer(arguments.has("json") ? as_json(slot::json_of(*info)) : status_text(*info, location), code);
}

int wait_command(const Arguments& arguments) {
    auto directory = slot_directory(arguments);
    if (!directory)
        return fail_with(directory.error());
    auto limit = duration_option(arguments, "wait");
    if (!limit)
        return fail_with(limit.error());
    auto what = arguments.value("for");
    if (!what)
        return fail_with(
            {.code = Errc::invalid_argument, .message = "say what to wait for: --for ready or --for free"});
    auto info = wait_for({.directory = *directory, .name = arguments.words[0]},
                         what == "free" ? WaitFor::free : WaitFor::ready, *limit);
    if (!info)
        return fail_with(info.error());
    return arguments.has("json") ? answer(as_json(slot::json_of(*info))) : exit_ok;
}

} // namespace holdfast::cli
