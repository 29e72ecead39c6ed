// status: a reader. It takes nothing, wakes nobody and becomes nobody's owner.
#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/memory/memory.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "holdfast/slot.hpp"
#include "slot/slot_json.hpp"
#include "sys/errors.hpp"
#include "json/json_fields.hpp"
#include "json/json_write.hpp"

#include <unistd.h>

#include <cerrno>

namespace holdfast::cli {

using base::cat;

namespace {

// Counts with a thin grouping: 1,234,567.
std::string grouped(std::int64_t number) {
    auto text = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), 1, ',');
    return text;
}

// "1 trace", "1,234 traces"
std::string counted(const json::object& counts, std::string_view name) {
    const auto number = json::integer_field(counts, name);
    return cat(grouped(number), ' ', number == 1 ? name.substr(0, name.size() - 1) : name);
}

std::string owner_line(const SlotInfo& slot, const std::string& phase) {
    if (slot.state != SlotState::owned)
        return "owner    none; whoever needs it opens it\n";
    const auto who =
        slot.owner_pid > 0 ? cat("process ", slot.owner_pid) : std::string("a process in another container");
    std::string how = phase;
    std::string remark;
    if (slot.owner_stopped) {
        how = "stopped";
        remark = cat("; who waits for it continues it, or: kill -CONT ", slot.owner_pid);
    } else if (phase == "silent") {
        how = "does not answer";
    } else if (phase == "closed") { // it came since that was asked
        how = "just starting";
    }
    return cat("owner    ", who, ", ", how, ", for ", base::format_duration(slot.age), remark, '\n');
}

std::string store_line(const json::object& health) {
    if (const auto error = json::text_field(health, "error"); !error.empty())
        return cat("store    cannot be read: ", error, "\n");
    const auto* counts = json::object_field(health, "counts");
    if (counts == nullptr)
        return "";
    return cat("store    ", counted(*counts, "traces"), " in ", counted(*counts, "episodes"), " of ",
               counted(*counts, "sessions"), ", ", base::format_size(json::unsigned_field(health, "dbBytes")),
               " and ", base::format_size(json::unsigned_field(health, "walBytes")), " of log\n");
}

std::string warning_lines(const json::object& health) {
    std::string text;
    if (const auto* warnings = health.if_contains("warnings"); warnings != nullptr && warnings->is_array())
        for (const auto& warning : warnings->get_array())
            if (const auto* one = warning.if_object())
                text += cat("warning  ", json::text_field(*one, "message"),
                            one->contains("keptAs") ? cat(" (", json::text_field(*one, "keptAs"), ')') : "",
                            '\n');
    return text;
}

int no_memory(const std::string& home) {
    return answer_json(json::to_text(json::object{{"home", home}, {"exists", false}, {"owner", nullptr}}),
                       exit_not_running);
}

} // namespace

int memory_status_command(const Arguments& arguments) {
    auto home = memory_home(arguments);
    if (!home)
        return fail_with(home.error());
    const bool as_json = arguments.has("json");
    if (as_json && !is_memory_home(*home) && (errno == ENOENT || errno == ENOTDIR))
        return no_memory(*home);
    int no_home = exit_ok;
    if (!existing_memory_home(arguments, no_home))
        return no_home;
    auto health = look_at_memory(*home);
    if (!health)
        return fail_with(health.error());
    auto slot = query({*home, "memory"});
    if (!slot)
        return fail_with(slot.error());
    const bool owned = slot->state == SlotState::owned;
    const auto viewer = viewer_address(*home);
    const int code = owned ? exit_ok : exit_not_running;
    if (as_json)
        return answer_json(json::to_text(json::object{
                               {"home", *home},
                               {"exists", true},
                               {"owner", owned ? json::value(slot::json_of(*slot)) : json::value(nullptr)},
                               {"viewer", viewer.empty() ? json::value(nullptr) : json::value(viewer)},
                               {"health", *health}}),
                           code);
    return answer(cat("home     ", *home, '\n', owner_line(*slot, json::text_field(*health, "phase")),
                      "viewer   ",
                      viewer.empty() ? "not served"
                                     : cat(viewer, " (opens with: holdfast memory open",
                                           arguments.has("home") ? cat(" --home ", *home) : "", ")"),
                      '\n', store_line(*health), warning_lines(*health)),
                  code);
}

} // namespace holdfast::cli
