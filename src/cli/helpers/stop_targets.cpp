#include "cli/helpers/stop_targets.hpp"

#include "base/names.hpp"
#include "base/text.hpp"
#include "cli/shared/settings.hpp"
#include "holdfast/slot.hpp"
#include "registry/listing.hpp"
#include "slot/behind_slot.hpp"
#include "sys/proc.hpp"

#include <algorithm>

namespace holdfast::cli {

using registry::Helper;

namespace {

// Nobody guards it: it is ended as the next start would.
void abandon(StopTarget& target, const base::HelperFacts& facts) {
    target.abandoned = {.id = target.location.name,
                        .spare = facts.spare,
                        .cgroup_place = facts.cgroup_place,
                        .helper = facts.helper};
}

// To say who may be left of it.
std::vector<slot::LostTree> tree_of(const std::string& id, const base::HelperFacts& facts) {
    return {{.id = id, .helper = facts.helper, .keeper = facts.keeper}};
}

StopTarget target_of(const Helper& helper, const std::string& directory) {
    StopTarget target{.location = {.directory = directory, .name = helper.id},
                      .shown = base::cat(helper.facts.label, " (", helper.id, ")"),
                      .label = helper.facts.label,
                      .epoch = helper.info.epoch,
                      .lost = tree_of(helper.id, helper.facts)};
    if (helper.facts.registered)
        target.registered = helper.facts.helper;
    else if (helper.abandoned)
        abandon(target, helper.facts);
    else
        target.plan = core::parse_stop_plan(helper.facts.stop_plan).value_or(core::default_stop_plan());
    return target;
}

// There is nothing to stop about a registered one that has ended.
bool can_be_stopped(const Helper& helper) {
    return !helper.facts.registered || helper.alive || helper.elsewhere;
}

// Whose slot it is, when `holdfast run` took it for a helper.
const Helper* owner_of(const SlotInfo& slot, const std::vector<Helper>& helpers) {
    auto found = std::ranges::find_if(helpers, [&](const Helper& helper) {
        return helper.facts.slot == slot.name && slot.state == SlotState::owned &&
               helper.info.state == SlotState::owned && helper.info.owner_pid == slot.owner_pid;
    });
    return found == helpers.end() ? nullptr : &*found;
}

// A slot that was found, with the helper behind it: that goes with its slot, and by its plan. One that has
// lost both its guards is known by what its front and its leftovers say, whatever profile it is of.
StopTarget target_of(const SlotLocation& slot, const SlotInfo& info, const Helper* owner,
                     const std::string& helpers) {
    StopTarget out = owner ? target_of(*owner, helpers) : StopTarget{.location = slot, .epoch = info.epoch};
    if (info.state == SlotState::orphaned)
        for (const slot::BehindSlot& behind : slot::all_behind(slot, info.epoch)) {
            auto entry = query(behind.entry);
            auto keeper = sys::open_same(behind.facts.keeper);
            if (!entry || entry->state == SlotState::owned || keeper ||
                keeper.error().code == Errc::unreachable)
                continue;
            out = {.location = behind.entry,
                   .label = behind.facts.label,
                   .epoch = entry->epoch,
                   .lost = tree_of(behind.entry.name, behind.facts)};
            abandon(out, behind.facts);
            break;
        }
    out.shown = base::cat("slot ", slot.name);
    if (owner || out.abandoned) {
        out.slot = info;
        out.slot_directory = slot.directory;
    }
    return out;
}

// One that was named as a helper already is not ended twice, but its slot is asked about, too.
void add_slot(StopTarget target, std::vector<StopTarget>& out) {
    auto same = std::ranges::find_if(out, [&](const StopTarget& one) {
        return one.location.directory == target.location.directory &&
               one.location.name == target.location.name;
    });
    if (same == out.end()) {
        out.push_back(std::move(target));
    } else {
        same->slot = std::move(target.slot);
        same->slot_directory = std::move(target.slot_directory);
    }
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
        if (base::check_slot_name(word)) {
            auto directory = slot_directory(arguments);
            if (!directory)
                return std::unexpected(directory.error());
            auto info = query({.directory = *directory, .name = word});
            if (!info)
                return std::unexpected(info.error());
            known = known || info->epoch != 0;
            const Helper* owner = owner_of(*info, *helpers);
            if (info->state != SlotState::free && std::ranges::find(meant, owner) == meant.end())
                add_slot(target_of({.directory = *directory, .name = word}, *info, owner, places->helpers),
                         out);
        }
        if (out.size() == before && !known && std::ranges::count_if(*helpers, [&](const Helper& helper) {
                                                  return helper.id.starts_with(word);
                                              }) > 1)
            return fail(Errc::invalid_argument, base::cat("several helpers have an id that begins with \"",
                                                          word, "\"; say more of it (holdfast ps)"));
        if (out.size() == before && !known)
            found.missing.push_back(word);
    }
    return found;
}

} // namespace holdfast::cli
