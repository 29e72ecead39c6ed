// What the completions ask when names are wanted: it looks as `ps` and `slots` do, without measuring
// anything.
#include "cli/manual.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "holdfast/slot.hpp"
#include "registry/helper_logs.hpp"
#include "registry/listing.hpp"

#include <set>

namespace holdfast::cli {

namespace {

// What was typed so far, as far as it matters here: it need not be a whole command yet.
struct Typed {
    std::string command;
    bool wants_slot = false; // the value of --slot comes next
    Arguments arguments;     // --profile and --slot-dir
};

Typed read_typed(std::span<const std::string> words) {
    Typed out;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string_view word = words[at];
        const bool last = at + 1 == words.size();
        const auto value_of = [&](std::string_view name) -> std::optional<std::string> {
            if (word == name && !last)
                return words[++at];
            if (word.size() > name.size() && word.starts_with(name))
                return std::string(word.substr(name.size() + (word[name.size()] == '=' ? 1 : 0)));
            return std::nullopt;
        };
        if (word == "--slot" && last)
            out.wants_slot = true;
        else if (auto directory = value_of("--slot-dir"))
            out.arguments.add("slot-dir", *directory);
        else if (auto profile = word.starts_with("--") ? value_of("--profile") : value_of("-p")) {
            out.arguments.add("profile", *profile);
            out.arguments.profile = *profile;
        } else if (!word.starts_with('-') && out.command.empty())
            out.command = word;
    }
    return out;
}

void add_helpers(std::set<std::string>& out, const places::Places& places, bool with_log) {
    auto helpers = registry::list_helpers(places.helpers, {.measure = false, .with_history = false});
    if (!helpers)
        return;
    for (const registry::Helper& helper : *helpers)
        if (!with_log || !helper.facts.log.empty())
            out.insert({helper.id, helper.facts.label});
}

void add_slots(std::set<std::string>& out, const Arguments& arguments, bool free_too) {
    auto directory = slot_directory(arguments);
    auto slots = directory ? list_slots(*directory) : std::unexpected(directory.error());
    if (!slots)
        return;
    for (const SlotInfo& slot : *slots)
        if (free_too || slot.state != SlotState::free)
            out.insert(slot.name);
}

} // namespace

int print_names(std::span<const std::string> words) {
    const Typed typed = read_typed(words);
    auto places = places_of(typed.arguments);
    if (!places)
        return fail_with(places.error());
    std::set<std::string> names;
    if (typed.wants_slot || typed.command == "status" || typed.command == "wait") {
        add_slots(names, typed.arguments, true);
    } else if (typed.command == "stop") {
        add_helpers(names, *places, false);
        add_slots(names, typed.arguments, false);
    } else if (typed.command == "logs") {
        add_helpers(names, *places, true);
        for (std::string& id : registry::logged_ids(*places))
            names.insert(std::move(id));
    }
    std::string text;
    for (const std::string& name : names)
        if (!name.empty() && base::printable(name) == name) // one a line, and nothing that steers a terminal
            text += base::cat(name, '\n');
    return answer(text);
}

} // namespace holdfast::cli
