#include "cli/exit_codes.hpp"
#include "cli/helpers.hpp"
#include "cli/print.hpp"
#include "cli/settings.hpp"
#include "core/json_fields.hpp"
#include "core/names.hpp"
#include "core/text.hpp"
#include "keep/front.hpp"
#include "registry/entry.hpp"
#include "registry/listing.hpp"
#include "registry/tree_ender.hpp"
#include "slot/paths.hpp"
#include "slot/sight.hpp"
#include "sys/lock_file.hpp"
#include "sys/pidfd.hpp"
#include "sys/proc.hpp"

#include <csignal>
#include <optional>

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
    // A process that its host registered. The entry's lock is the *host's*, who is not to be ended: the
    // process is meant.
    std::optional<core::Identity> registered;
};

// Ends the registered ones: asked when constructed, so that they end while the others are waited for.
class RegisteredStop {
public:
    RegisteredStop(const std::vector<Target>& targets, const StopOptions& how) {
        for (const Target& target : targets) {
            One& one = ones_.emplace_back(One{.ender = registry::TreeEnder(how), .problem = std::nullopt});
            if (!target.registered)
                continue;
            auto process = sys::open_same(*target.registered);
            if (process)
                one.ender.add(std::move(*process));
            else if (process.error().code != Errc::not_found)
                one.problem = process.error();
            one.ender.ask();
        }
    }
    // True when it is gone.
    Result<bool> finish(std::size_t at, const Target& target) {
        if (ones_[at].problem)
            return std::unexpected(*ones_[at].problem);
        auto survivors = ones_[at].ender.finish();
        if (!survivors.empty())
            return fail(Errc::survivors, core::cat(target.shown, " could not be ended: ",
                                                   slot::leftovers_for_people(survivors), " lives on"));
        // With no host behind it nobody else would clear the entry away.
        if (auto info = query(target.location); info && info->state == SlotState::free && info->epoch != 0)
            registry::remove_unowned(target.location.directory, target.location.name);
        return true;
    }

private:
    struct One {
        registry::TreeEnder ender;
        std::optional<Error> problem;
    };
    std::vector<One> ones_;
};

// Asks all at once before the waiting begins, so that many take no longer than the slowest.
void ask_all(const std::vector<Target>& targets, bool now) {
    for (const Target& target : targets) {
        if (target.registered)
            continue;
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
        Target target{.location = {.directory = places->helpers, .name = helper.id},
                      .shown = core::cat(helper.facts.label, " (", helper.id, ")"),
                      .has_front = !helper.facts.registered};
        if (helper.facts.registered)
            target.registered = helper.facts.helper;
        if (!helper.facts.registered || helper.alive ||
            helper.elsewhere) // there is nothing to stop about one that has ended
            out.push_back(std::move(target));
    };
    if (!by_word) {
        for (const Helper& helper : *helpers)
            if (!session || helper.info.session == *session)
                add(helper);
        return out;
    }
    for (const std::string& word : arguments.words) {
        std::size_t before = out.size();
        auto meant = registry::matching(*helpers, word);
        for (const Helper* helper : meant)
            add(*helper);
        bool may_be_slot = core::check_slot_name(word).has_value();
        bool known = !meant.empty();
        if (may_be_slot) {
            auto directory = slot_directory(arguments);
            if (!directory)
                return std::unexpected(directory.error());
            auto info = query({.directory = *directory, .name = word});
            if (!info)
                return std::unexpected(info.error());
            known = known || info->epoch != 0;
            if (info->state != SlotState::free)
                out.push_back(
                    {.location = {.directory = *directory, .name = word}, .shown = core::cat("slot ", word)});
        }
        if (out.size() == before && !known)
            return fail(Errc::not_found, core::cat("there is no helper and no slot called \"", word,
                                                   "\"; see: holdfast ps, holdfast slots"));
    }
    return out;
}

} // namespace

std::span<const Option> stop_options() {
    return options;
}

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
    how.now = now;
    RegisteredStop registered(*targets, how);
    ask_all(*targets, now);
    int code = exit_ok;
    json::array answers;
    for (std::size_t at = 0; at < targets->size(); ++at) {
        const Target& target = (*targets)[at];
        // A front ends its tree at once when it is told so; KILL is for what does not listen.
        if (now)
            how.grace = target.has_front ? Millis{1000} : Millis{0};
        how.now = false;
        auto stopped = target.registered ? registered.finish(at, target) : stop_slot(target.location, how);
        if (arguments.has("json"))
            answers.push_back(
                {{"name", target.shown},
                 {"stopped", stopped.has_value()},
                 {"error", stopped ? json::value(nullptr) : json::value(stopped.error().message)}});
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
