#include "cli/stop_targets.hpp"

#include "cli/settings.hpp"
#include "core/names.hpp"
#include "core/text.hpp"
#include "registry/listing.hpp"

#include <algorithm>

namespace holdfast::cli {

using registry::Helper;

namespace {

StopTarget target_of(const Helper& helper, const std::string& directory) {
    StopTarget target{.location = {.directory = directory, .name = helper.id},
                      .shown = core::cat(helper.facts.label, " (", helper.id, ")"),
                      .label = helper.facts.label,
                      .epoch = helper.info.epoch};
    if (helper.facts.registered)
        target.registered = helper.facts.helper;
    else if (helper.abandoned)
        target.abandoned = {
            .id = helper.id, .spare = helper.facts.spare, .cgroup_place = helper.facts.cgroup_place};
    else
        target.plan = core::parse_stop_plan(helper.facts.stop_plan).value_or(core::default_stop_plan());
    return target;
}

// There is nothing to stop about a registered one that has ended.
bool can_be_stopped(const Helper& helper) {
    return !helper.facts.registered || helper.alive || helper.elsewhere;
}

bool share_a_leftover(const SlotInfo& one, const SlotInfo& other) {
    return std::ranges::any_of(one.leftovers, [&](const Leftover& mine) {
        return std::ranges::any_of(other.leftovers,
                                   [&](const Leftover& theirs) { return theirs.pid == mine.pid; });
    });
}

// Whose slot it is, when `holdfast run` took it for a helper. One that has lost both its guards is known by
// what it left: it holds the life of the entry as well, and by the entry those are found that hold neither.
const Helper* owner_of(const SlotInfo& slot, const std::vector<Helper>& helpers) {
    auto found = std::ranges::find_if(helpers, [&](const Helper& helper) {
        if (helper.facts.slot != slot.name)
            return false;
        return slot.state == SlotState::orphaned
                   ? helper.abandoned && share_a_leftover(helper.info, slot)
                   : helper.info.state == SlotState::owned && helper.info.owner_pid == slot.owner_pid;
    });
    return found == helpers.end() ? nullptr : &*found;
}

} // namespace

Result<StopTargets> find_stop_targets(const Arguments& arguments) {
    if (auto ok = check_keys(arguments); !ok)
        return std::unexpected(ok.error());
    auto places = places_of(arguments);
    if (!places)
        return std::unexpected(places.error());
    StopTargets found;
    std::vector<StopTarget>& out = found.found;
    bool by_word = !arguments.words.empty();
    auto session = arguments.value("session");
    if (by_word + (session ? 1 : 0) + arguments.has("all") != 1)
        return fail(Errc::invalid_argument, "say what to stop: an ID, a NAME, --session KEY or --all");
    auto helpers = registry::list_helpers(places->helpers, {.measure = false, .with_history = false});
    if (!helpers)
        return std::unexpected(helpers.error());
    auto add = [&](const Helper& helper) {
        if (can_be_stopped(helper))
            out.push_back(target_of(helper, places->helpers));
    };
    if (!by_word) {
        for (const Helper& helper : *helpers)
            if (!session || helper.info.session == *session)
                add(helper);
        return found;
    }
    for (const std::string& word : arguments.words) {
        std::size_t before = out.size();
        auto meant = registry::matching(*helpers, word);
        for (const Helper* helper : meant)
            add(*helper);
        bool known = !meant.empty();
        if (core::check_slot_name(word)) {
            auto directory = slot_directory(arguments);
            if (!directory)
                return std::unexpected(directory.error());
            auto info = query({.directory = *directory, .name = word});
            if (!info)
                return std::unexpected(info.error());
            known = known || info->epoch != 0;
            // The slot of a helper goes with it, and by its plan.
            const Helper* owner = owner_of(*info, *helpers);
            StopTarget target =
                owner ? target_of(*owner, places->helpers)
                      : StopTarget{.location = {.directory = *directory, .name = word}, .epoch = info->epoch};
            target.shown = core::cat("slot ", word);
            if (owner) {
                target.slot = *info;
                target.slot_directory = *directory;
            }
            if (info->state != SlotState::free && std::ranges::find(meant, owner) == meant.end())
                out.push_back(std::move(target));
        }
        if (out.size() == before && !known && std::ranges::count_if(*helpers, [&](const Helper& helper) {
                                                  return helper.id.starts_with(word);
                                              }) > 1)
            return fail(Errc::invalid_argument, core::cat("several helpers have an id that begins with \"",
                                                          word, "\"; say more of it (holdfast ps)"));
        if (out.size() == before && !known)
            found.missing.push_back(word);
    }
    return found;
}

} // namespace holdfast::cli
