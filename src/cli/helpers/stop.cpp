#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/helpers/helpers.hpp"
#include "cli/helpers/stop_targets.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "ending/ender.hpp"
#include "keep/front.hpp"
#include "keep/front_stop.hpp"
#include "records/paths.hpp"
#include "registry/events.hpp"
#include "slot/blocked.hpp"
#include "slot/entry_files.hpp"
#include "slot/sight.hpp"
#include "slot/slot_json.hpp"
#include "slot/stopping.hpp"
#include "sys/clock.hpp"
#include "sys/lock_file.hpp"
#include "sys/pidfd.hpp"
#include "sys/proc.hpp"
#include "sys/signals.hpp"
#include "json/json_write.hpp"

#include <csignal>
#include <optional>

namespace holdfast::cli {

namespace {

constexpr Option options[] = {
    {.name = "session", .value = "KEY", .help = "stop all helpers of this session"},
    {.name = "all", .value = "", .help = "stop all helpers of the profile"},
    {.name = "now", .value = "", .help = "KILL at once instead of asking first"},
    {.name = "grace",
     .value = "DUR",
     .help = "from asking to KILL (a helper's own stop plan; slots and registered processes: 5s)"},
    {.name = "slot-dir", .value = "DIR", .help = "where the slot lives, if not in the profile"},
    {.name = "json", .value = "", .help = "as JSON"},
};

std::unexpected<Error> lives_on(const StopTarget& target, const std::vector<Leftover>& survivors) {
    return fail(Errc::survivors, base::cat(target.shown, " could not be ended: ",
                                           slot::leftovers_for_people(survivors), " lives on"));
}

// The place that a message names: the slot, when the helper was named by it.
SlotLocation place_for_people(const StopTarget& target) {
    return target.slot ? SlotLocation{.directory = target.slot_directory, .name = target.slot->name}
                       : target.location;
}

std::unexpected<Error> life_is_held(const StopTarget& target, Errc code = Errc::survivors) {
    return fail(code, base::cat(target.shown, " could not be ended: its life is still held by ",
                                slot::holders_for_people(place_for_people(target), target.lost)));
}

// Ends the registered ones: asked when constructed, so that they end while the others are waited for.
class RegisteredStop {
public:
    RegisteredStop(const std::vector<StopTarget>& targets, const StopOptions& how) {
        for (const StopTarget& target : targets) {
            One& one = ones_.emplace_back(
                One{.ender = ending::Ender(ending::unmarked_trees(how.grace, how.patience, how.now)),
                    .problem = std::nullopt});
            if (!target.registered)
                continue;
            auto process = sys::open_same(*target.registered);
            if (process)
                one.ender.add(std::move(*process));
            else if (process.error().code != Errc::not_found)
                one.problem = process.error();
            if (!how.now) // KILL comes when it is waited for
                one.ender.begin(core::StopReason::asked);
        }
    }
    Result<Stopped> finish(std::size_t at, const StopTarget& target) {
        if (ones_[at].problem)
            return std::unexpected(*ones_[at].problem);
        auto survivors = ones_[at].ender.finish().leftovers();
        if (!survivors.empty())
            return lives_on(target, survivors);
        // With no host behind it nobody else would clear the entry away.
        if (auto info = query(target.location); info && info->state == SlotState::free && info->epoch != 0)
            slot::remove_unowned(target.location.directory, target.location.name);
        return Stopped{.anybody = true};
    }

private:
    struct One {
        ending::Ender ender;
        std::optional<Error> problem;
    };
    std::vector<One> ones_;
};

// Ends the owners, each of the epoch that was found: asked when constructed, all before any is waited for.
class OwnerStop {
public:
    OwnerStop(const std::vector<StopTarget>& targets, const StopOptions& how, std::optional<Millis> grace,
              const registry::EventLog& events)
        : grace_(how.now ? Millis{0} : grace)
        , events_(events) {
        for (const StopTarget& target : targets) {
            if (target.registered || target.abandoned) {
                ones_.emplace_back(std::nullopt);
                continue;
            }
            StopOptions mine = how;
            mine.epoch = target.epoch;
            mine.now = how.now && !target.plan; // a front ends its tree at once when it is told so
            ones_.emplace_back(slot::Stopping(target.location, mine,
                                              how.now && target.plan ? sys::stop_now_signal() : SIGTERM));
        }
        asked_at_ = sys::boottime_ms();
    }
    Result<Stopped> finish(std::size_t at, const StopTarget& target) {
        if (target.plan && !front_has_ended(target)) // KILL is for what does not listen
            return stop_slot(target.location, {.now = true, .epoch = target.epoch});
        auto stopped = ones_[at]->finish();
        if (!stopped && target.plan &&
            (stopped.error().code == Errc::orphaned || stopped.error().code == Errc::survivors))
            return life_is_held(target, stopped.error().code);
        if (!stopped || !target.plan)
            return stopped;
        // An entry's next owner is not another helper, but somebody who clears it away.
        if (stopped->successor)
            if (auto cleared = wait_for(target.location, WaitFor::free, clearing_takes_at_most); !cleared)
                return std::unexpected(cleared.error());
        stopped->successor.reset();
        return stopped;
    }

private:
    static constexpr Millis clearing_takes_at_most{30'000};

    [[nodiscard]] bool front_has_ended(const StopTarget& target) const {
        keep::FrontPatience patience{.plan = *target.plan, .grace = grace_, .asked_at = asked_at_};
        if (keep::wait_for_front(target.location, patience) == keep::FrontEnd::gone)
            return true;
        events_.append({.unix_ms = 0,
                        .type = "killed",
                        .id = target.location.name,
                        .label = target.label,
                        .pid = 0,
                        .reason = "its front did not answer to holdfast stop",
                        .status = {}});
        return false;
    }

    std::optional<Millis> grace_;
    const registry::EventLog& events_;
    std::int64_t asked_at_ = 0; // boot time in ms
    std::vector<std::optional<slot::Stopping>> ones_;
};

// The helper is gone. What its tree has left may hold its slot and nothing else. With that gone, whoever owns
// the slot now is one that waited.
Result<Stopped> end_rest_of_slot(const StopTarget& target, StopOptions how, Stopped stopped) {
    how.epoch = target.slot->epoch;
    const SlotLocation slot = place_for_people(target);
    auto rest = stop_slot(slot, how);
    if (!rest && (rest.error().code == Errc::orphaned || rest.error().code == Errc::survivors))
        return fail(rest.error().code, slot::blocked_for_people(slot, target.lost));
    if (!rest)
        return rest;
    stopped.successor = std::move(rest->successor);
    return stopped;
}

// As the next start would.
Result<Stopped> end_abandoned(const StopTarget& target, bool now, const registry::EventLog& events) {
    ending::LeftBehind left(target.location.directory, {*target.abandoned});
    left.end(now);
    const auto ended = left.ended().find(target.location.name);
    if (ended != left.ended().end() && !ended->second.empty())
        events.append(
            {.unix_ms = 0,
             .type = "reaped",
             .id = target.location.name,
             .label = target.label,
             .pid = ended->second.front(),
             .reason = base::cat("stopped; both its guards were gone; ", ended->second.size(), " processes"),
             .status = {}});
    // A process that holds its life is alive, found or not.
    if (auto sight = sys::LockFile::look(records::lock_path(target.location));
        target.abandoned->spare.empty() && sight && sight->life_held && !sight->owned)
        return life_is_held(target);
    const std::vector<Leftover> survivors = left.survivors();
    if (!survivors.empty() || !left.stuck().empty())
        return lives_on(target, survivors);
    slot::remove_unowned(target.location.directory, target.location.name);
    return Stopped{.anybody = true};
}

json::object to_json_object(const StopTarget& target, const Result<Stopped>& stopped) {
    json::object out;
    out["name"] = target.shown;
    out["stopped"] = stopped.has_value();
    out["successor"] = nullptr; // who waited, and has the slot now
    if (stopped && stopped->successor)
        out["successor"] = slot::json_of(*stopped->successor);
    out["error"] = stopped ? json::value(nullptr) : json::value(stopped.error().message);
    return out;
}

Error nothing_called(const std::string& word) {
    return {.code = Errc::not_found,
            .message = base::cat("there is no helper and no slot called \"", word,
                                 "\"; see: holdfast ps, holdfast slots")};
}

std::string sentence(const StopTarget& target, const Stopped& stopped) {
    if (!stopped.successor)
        return base::cat("stopped ", base::printable(target.shown), '\n');
    return base::cat("stopped ", base::printable(target.shown),
                     "; somebody who waited owns it now: ", slot::owner_for_people(*stopped.successor), '\n');
}

} // namespace

std::span<const Option> stop_options() {
    return options;
}

int stop_command(const Arguments& arguments) {
    auto grace = duration_option(arguments, "grace");
    if (!grace)
        return fail_with(grace.error());
    auto targets = find_stop_targets(arguments);
    if (!targets)
        return fail_with(targets.error());
    auto places = places_of(arguments);
    if (!places)
        return fail_with(places.error());
    const registry::EventLog events(places->events);
    StopOptions how;
    how.grace = grace->value_or(how.grace);
    how.now = arguments.has("now");
    RegisteredStop registered(targets->found, how);
    OwnerStop owners(targets->found, how, *grace, events);
    int code = exit_ok;
    int said = exit_ok;
    json::array answers;
    for (std::size_t at = 0; at < targets->found.size(); ++at) {
        const StopTarget& target = targets->found[at];
        auto stopped = target.registered  ? registered.finish(at, target)
                       : target.abandoned ? end_abandoned(target, how.now, events)
                                          : owners.finish(at, target);
        if (stopped && target.slot)
            stopped = end_rest_of_slot(target, how, std::move(*stopped));
        if (arguments.has("json"))
            answers.push_back(to_json_object(target, stopped));
        else if (stopped)
            said = std::max(said, answer(sentence(target, *stopped)));
        if (!stopped)
            code = fail_with(stopped.error());
    }
    // A process that lives on weighs more than a name that means nothing.
    for (const std::string& word : targets->missing) {
        const auto error = nothing_called(word);
        if (arguments.has("json"))
            answers.push_back(to_json_object({.location = {}, .shown = word}, std::unexpected(error)));
        const int missing = fail_with(error);
        code = code == exit_ok ? missing : code;
    }
    if (arguments.has("json"))
        return answer_json(json::to_text(answers), code);
    if (targets->found.empty() && targets->missing.empty())
        return answer("nothing to stop\n");
    return code != exit_ok ? code : said;
}

} // namespace holdfast::cli
