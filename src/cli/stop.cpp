#include "cli/exit_codes.hpp"
#include "cli/helpers.hpp"
#include "cli/print.hpp"
#include "cli/settings.hpp"
#include "core/json_fields.hpp"
#include "core/names.hpp"
#include "core/text.hpp"
#include "keep/front.hpp"
#include "registry/listing.hpp"
#include "slot/paths.hpp"
#include "sys/lock_file.hpp"
#include "sys/pidfd.hpp"

#include <csignal>

namespace holdfast::cli {

namespace json = boost::json;
using registry::Helper;

namespace {

constexpr Option options[] = {
    {.name = "session", .value = "KEY", .help = "stop all helpers of this session"},
    {.name = "all", .value = "", .help = "stop all helpers of the profile"},
    {.name = "now", .value = "", .help = "KILL at once instead of asking first"},
    {.name = "grace", .value = "DUR", .help = "from asking to KILL (5s)"},
    {.name = "slot-dir", .value = "DIR", .help = "where the slot lives, if not in the profile"},
    {.name = "json", .value = "", .help = "as JSON"},
};

// One thing to stop: a slot, or a helper's entry, which is a slot under a fresh id.
struct Target {
    SlotLocation location;
    std::string shown;
    bool has_front = false; // `holdfast run` stands before it, and knows how to end a tree at once
};

// Asks all at once before the waiting begins, so that many take no longer than the slowest.
void ask_all(const std::vector<Target>& targets, bool now) {
    for (const Target& target : targets) {
        auto before = sys::LockFile::look(slot::lock_path(target.location));
        if (!before || before->owner_pid <= 0)
            continue;
        auto process = sys::PidFd::open(before->owner_pid);
        auto after = sys::LockFile::look(slot::lock_path(target.location));
        if (!process || !after || after->owner_pid != before->owner_pid || after->epoch != before->epoch)
            continue;
        (void)process->signal(now && target.has_front ? keep::stop_now_signal() : SIGTERM);
        (void)process->signal(SIGCONT);
    }
}

Result<std::vector<Target>> find_targets(const Arguments& arguments) {
    auto places = places_of(arguments);
    if (!places)
        return std::unexpected(places.error());
    std::vector<Target> out;
    bool by_word = !arguments.words.empty();
    auto session = arguments.value("session");
    if (by_word + (session ? 1 : 0) + arguments.has("all") != 1)
        return fail(Errc::invalid_argument, "say what to stop: an ID, a NAME, --session KEY or --all");
    auto helpers = registry::list_helpers(places->helpers, {.measure = false, .with_history = false});
    if (!helpers)
        return std::unexpected(helpers.error());
    auto add = [&](const Helper& helper) {
        out.push_back({{.directory = places->helpers, .name = helper.id}, core::cat(helper.facts.label, " (", helper.id, ")"), !helper.facts.registered});
    };
    if (!by_word) {
        for (const Helper& helper : *helpers)
            if (!session || helper.info.session == *session)
                add(helper);
        return out;
    }
    for (const std::string& word : arguments.words) {
        std::size_t before = out.size();
        for (const Helper* helper : registry::matching(*helpers, word))
            add(*helper);
        bool may_be_slot = core::check_slot_name(word).has_value();
        bool known_slot = false;
        if (may_be_slot) {
            auto directory = slot_directory(arguments);
            if (!directory)
                return std::unexpected(directory.error());
            auto info = query({.directory = *directory, .name = word});
            if (!info)
                return std::unexpected(info.error());
            known_slot = info->epoch != 0;
            if (info->state != SlotState::free)
                out.push_back({{.directory = *directory, .name = word}, core::cat("slot ", word), false});
        }
        if (out.size() == before && !known_slot)
            return fail(Errc::not_found, core::cat("there is no helper and no slot called \"", word,
                                                   "\"; see: holdfast ps, holdfast slots"));
    }
    return out;
}

} // namespace

std::span<const Option> stop_options() { return options; }

int stop_command(const Arguments& arguments) {
    auto grace = duration_option(arguments, "grace");
    if (!grace)
        return fail_with(grace.error());
    auto targets = find_targets(arguments);
    if (!targets)
        return fail_with(targets.error());
    bool now = arguments.has("now");
    StopOptions how;
    how.grace = grace->value_or(how.grace);
    ask_all(*targets, now);
    int code = exit_ok;
    json::array answers;
    for (const Target& target : *targets) {
        // A front ends its tree at once when it is told so; KILL is for what does not listen.
        if (now)
            how.grace = target.has_front ? Millis{1000} : Millis{0};
        auto stopped = stop_slot(target.location, how);
        if (arguments.has("json"))
            answers.push_back({{"name", target.shown}, {"stopped", stopped.has_value()}, {"error", stopped ? json::value(nullptr) : json::value(stopped.error().message)}});
        else if (stopped)
            print(core::cat("stopped ", target.shown, '\n'));
        if (!stopped)
            code = fail_with(stopped.error());
    }
    if (arguments.has("json"))
        print(json::serialize(answers) + "\n");
    else if (targets->empty())
        print("nothing to stop\n");
    return code;
}

} // namespace holdfast::cli
