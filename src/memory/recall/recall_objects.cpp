// Policies, world models and skills: finding them, and their places among the traces.
#include "base/utf8.hpp"
#include "memory/recall/recall.hpp"

#include "base/text.hpp"
#include "memory/repository/rows.hpp"
#include "memory/text/letters.hpp"

#include <algorithm>

namespace holdfast::memory {

using base::cat;

// They are few: their index is made whole when one of them has changed.
struct Recall::ObjectIndex {
    std::uint64_t version = 0;
    std::unique_ptr<RankedIndex> index;
    std::vector<StoredObject> objects; // row n of the index, and session n, is objects[n - 1]
};

namespace {

constexpr std::size_t snippet_length = 280;
constexpr std::size_t title_length = 120;    // of a policy, world model or skill: it may be a whole page
constexpr std::size_t most_body = 64 * 1024; // bytes of it that are searched
constexpr std::int64_t most_objects = 20'000;
constexpr std::size_t most_placed = 5; // objects in one answer that asks for no tier
// A trace gets up to about as much again from its neighbours as its own words are worth, and an object is
// longer than a trace as a rule: a third of the best is what an object reaches that has its words.
constexpr float well_enough = 0.35F;

const char* kind_name(ObjectKind kind) {
    return kind == ObjectKind::skill ? "skill" : kind == ObjectKind::policy ? "policy" : "world-model";
}

int tier_of(ObjectKind kind) {
    return kind == ObjectKind::skill ? 1 : kind == ObjectKind::policy ? 2 : 3;
}

// By weight, and the near-copies among the traces behind everything.
std::vector<Hit> merged(std::vector<Hit> traces, std::size_t distinct, std::vector<Hit> objects) {
    const auto copies = traces.begin() + static_cast<std::ptrdiff_t>(distinct);
    std::vector<Hit> all;
    std::merge(std::move_iterator(traces.begin()), std::move_iterator(copies),
               std::move_iterator(objects.begin()), std::move_iterator(objects.end()),
               std::back_inserter(all),
               [](const Hit& one, const Hit& other) { return one.weight > other.weight; });
    std::move(copies, traces.end(), std::back_inserter(all));
    return all;
}

} // namespace

Result<std::shared_ptr<Recall::ObjectIndex>> Recall::objects(Analyzer& analyzer) {
    const std::lock_guard lock(objects_mutex_);
    const auto version = objects_version_.load();
    if (objects_ && objects_->version == version)
        return objects_;
    auto fresh = std::make_shared<ObjectIndex>();
    fresh->version = version;
    fresh->index = std::move(*RankedIndex::open(""));
    auto reader = store_.reader();
    if (!reader)
        return std::unexpected(std::move(reader.error()));
    for (const auto kind : {ObjectKind::skill, ObjectKind::policy, ObjectKind::world_model}) {
        auto list = list_objects(**reader, kind, "", "", most_objects, 0);
        if (!list && is_corrupt(list.error()))
            list = readable_objects(**reader, kind, most_objects, passed_over());
        if (!list)
            return std::unexpected(std::move(list.error()));
        for (auto& object : *list)
            if (object.status != "archived")
                fresh->objects.push_back(std::move(object));
    }
    std::vector<std::uint64_t> own;
    for (std::size_t i = 0; i < fresh->objects.size(); ++i) {
        own.clear();
        document_terms(
            analyzer,
            cat(fresh->objects[i].title, "\n", base::cut_at_character(fresh->objects[i].body, most_body)), 0,
            own);
        // Each in a conversation of its own: objects have no neighbours.
        fresh->index->add(static_cast<std::int64_t>(i) + 1, static_cast<std::uint32_t>(i) + 1, 0, own);
    }
    objects_ = std::move(fresh);
    return objects_;
}

Result<std::vector<Hit>> Recall::search_objects(Analyzer& analyzer, const RecallQuery& query,
                                                const TierLimits& limits,
                                                const std::vector<QueryTerm>& terms) {
    std::vector<Hit> hits;
    if (query.session_row != 0 || query.episode_row != 0 || !query.agent.empty())
        return hits;
    auto known = objects(analyzer);
    if (!known)
        return std::unexpected(std::move(known.error()));
    const auto& objects = (*known)->objects;
    if (objects.empty())
        return hits;
    // How rare a word is, the traces know: by a handful of objects alone every word would be common, and no
    // object would stand up to a trace.
    const auto counts = index_->count(terms);
    for (const auto& [kind, limit] : {std::pair(ObjectKind::skill, limits.skills),
                                      std::pair(ObjectKind::policy, limits.traces_and_policies),
                                      std::pair(ObjectKind::world_model, limits.world_models)}) {
        if (limit == 0)
            continue;
        RankingOptions options;
        options.candidates = limit;
        options.elsewhere = &counts;
        const auto of_kind = [&](const DocumentPlace& place) {
            const auto& object = objects[place.session - 1];
            return object.kind == kind && (query.from_ms == 0 || object.updated_at >= query.from_ms) &&
                   (query.until_ms == 0 || object.updated_at < query.until_ms);
        };
        for (const auto& candidate : (*known)->index->search(terms, options, of_kind).candidates) {
            const auto& object = objects[static_cast<std::size_t>(candidate.row) - 1];
            Hit hit{tier_of(kind),
                    kind_name(kind),
                    object.id,
                    shown_score(candidate.score),
                    cat(base::cut_at_character(object.title, title_length), ": ",
                        snippet_of(analyzer, base::cut_at_character(object.body, most_body), terms,
                                   snippet_length)
                            .text),
                    object.updated_at};
            hit.weight = candidate.score;
            hits.push_back(std::move(hit));
        }
    }
    std::ranges::stable_sort(hits, std::greater{}, &Hit::weight);
    return hits;
}

std::vector<Hit> placed(std::vector<Hit> traces, std::size_t distinct, std::vector<Hit> objects,
                        std::size_t top_k) {
    auto all = merged(std::move(traces), distinct, std::move(objects));
    std::vector<bool> taken(all.size());
    std::size_t places = top_k;
    std::size_t for_objects = std::min(top_k, most_placed);
    const auto take = [&](std::size_t i) {
        taken[i] = true;
        --places;
        if (all[i].kind != "trace")
            --for_objects;
    };
    std::size_t kept_free = top_k / 3;
    std::vector<std::string> kinds;
    for (std::size_t i = 0; i < all.size() && kept_free > 0; ++i) {
        const bool first = all[i].kind != "trace" && std::ranges::find(kinds, all[i].kind) == kinds.end();
        if (!first || all[i].weight < well_enough * all.front().weight)
            continue;
        kinds.push_back(all[i].kind);
        take(i);
        --kept_free;
    }
    for (std::size_t i = 0; i < all.size() && places > 0; ++i)
        if (!taken[i] && (all[i].kind == "trace" || for_objects > 0))
            take(i);
    std::vector<Hit> hits;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (taken[i])
            hits.push_back(std::move(all[i]));
    return hits;
}

std::vector<Hit> placed_by_tier(std::vector<Hit> traces, std::size_t distinct, std::vector<Hit> objects,
                                const TierLimits& limits) {
    // Traces and policies share a tier, and its places as they share an answer.
    std::vector<Hit> others;
    std::vector<Hit> policies;
    for (auto& object : objects)
        (object.tier == 2 ? policies : others).push_back(std::move(object));
    auto second = placed(std::move(traces), distinct, std::move(policies), limits.traces_and_policies);
    const auto known = std::ranges::is_sorted_until(second, std::greater{}, &Hit::weight);
    const auto in_order = static_cast<std::size_t>(known - second.begin());
    return merged(std::move(second), in_order, std::move(others));
}

} // namespace holdfast::memory
