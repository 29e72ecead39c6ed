#include "memory/index/ranked_index.hpp"

#include "memory/ids/ids.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace holdfast::memory {

namespace {

// Scores by document, kept from search to search: only what was touched is cleared.
struct Accumulator {
    std::vector<float> scores;
    std::vector<std::uint32_t> touched;

    void prepare(std::uint32_t size) {
        if (scores.size() < size)
            scores.resize(size, 0.0F);
        touched.clear();
    }
    void clear() {
        for (const auto document : touched)
            scores[document] = 0.0F;
        // A rare large search must not keep its memory for ever.
        if (touched.capacity() > (1U << 20))
            touched.shrink_to_fit();
    }
};

struct WeightedList {
    PostingList list;
    float weight = 0; // rarity times the query's weight times (k1 + 1)
    std::uint32_t group = 0;
    bool variant = false; // see QueryTerm
};

// The neighbour at a signed distance within the conversation, or -1.
std::int64_t neighbour(const PartView& view, std::uint32_t document, int distance, std::uint32_t reach) {
    const int step = distance < 0 ? -1 : 1;
    int left = std::abs(distance);
    std::int64_t at = document;
    for (std::uint32_t looked = 0; looked < reach; ++looked) {
        at += step;
        if (at < 0 || at >= view.size)
            return -1;
        if (view.lengths[at] != 0 && view.sessions[at] == view.sessions[document] && --left == 0)
            return at;
    }
    return -1;
}

// The score that the best `count` of the touched documents reach at least; 0 when there are fewer.
float reached_by(const Accumulator& sums, std::size_t count, std::vector<float>& scratch) {
    if (sums.touched.size() < count || count == 0)
        return 0;
    scratch.clear();
    for (const auto document : sums.touched)
        scratch.push_back(sums.scores[document]);
    const auto place = scratch.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::ranges::nth_element(scratch, place, std::greater{});
    return *place;
}

// Rare terms first. When what is left to add cannot lift a document that has none of the terms so far above
// those that are wanted, the remaining lists (the long ones) only add to documents that are known already: a
// word that half of all traces contain then costs a look at each, and no more.
void score_part(const PartView& view, std::vector<WeightedList>& lists, const std::array<float, 256>& norms,
                std::size_t wanted, float floor, Accumulator& sums) {
    constexpr std::uint32_t long_list = 4096; // below it, finding the bound costs more than it saves
    std::ranges::sort(lists, [](const WeightedList& a, const WeightedList& b) {
        if (a.weight != b.weight)
            return a.weight > b.weight;
        return a.group != b.group ? a.group < b.group : a.list.documents > b.list.documents;
    });
    // The readings of one word lie beside each other, and a document can get only one of them.
    const auto more_readings = [&](std::size_t i) {
        return i + 1 < lists.size() && lists[i].group == lists[i + 1].group &&
               (lists[i].variant || lists[i + 1].variant);
    };
    float left = 0;
    for (std::size_t i = 0; i < lists.size(); ++i)
        left += more_readings(i) ? 0.0F : lists[i].weight;
    auto* scores = sums.scores.data();
    std::vector<float> scratch;
    bool only_known = false;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const auto& list = lists[i].list;
        const float weight = lists[i].weight;
        const bool first_reading = i == 0 || !more_readings(i - 1);
        if (!only_known && first_reading && list.documents >= long_list)
            only_known = std::max(floor, reached_by(sums, wanted, scratch)) >= left;
        if (!more_readings(i))
            left -= weight;
        if (only_known)
            for_each_posting(list, [&](std::uint32_t document, std::uint32_t times) {
                if (document >= view.size || scores[document] == 0.0F)
                    return;
                const auto occurrences = static_cast<float>(times);
                scores[document] += weight * occurrences / (occurrences + norms[view.lengths[document]]);
            });
        else
            for_each_posting(list, [&](std::uint32_t document, std::uint32_t times) {
                if (document >= view.size)
                    return;
                const auto occurrences = static_cast<float>(times);
                auto& score = scores[document];
                if (score == 0.0F)
                    sums.touched.push_back(document);
                score += weight * occurrences / (occurrences + norms[view.lengths[document]]);
            });
    }
}

void collect_part(const PartView& view, const RankingOptions& options, const Admit& admit,
                  const Accumulator& sums, std::vector<Candidate>& found) {
    // The best by their own words: one pass with a heap of as many as are wanted.
    std::vector<std::uint32_t> best;
    const auto better = [&](std::uint32_t one, std::uint32_t other) {
        return sums.scores[one] != sums.scores[other] ? sums.scores[one] > sums.scores[other] : one > other;
    };
    const auto admitted = [&](std::size_t document) {
        return !admit || admit({view.base + static_cast<std::int64_t>(document), view.sessions[document],
                                view.times[document]});
    };
    for (const auto document : sums.touched) {
        const bool full = best.size() >= options.candidates;
        if ((full && !better(document, best.front())) || !admitted(document))
            continue;
        if (full) {
            std::ranges::pop_heap(best, better);
            best.pop_back();
        }
        best.push_back(document);
        std::ranges::push_heap(best, better);
    }
    // A neighbour of a hit may hold the answer without one word of the question.
    const auto matched = best.size();
    for (std::size_t i = 0; i < matched; ++i)
        for (const int distance : {-1, 1})
            if (const auto at = neighbour(view, best[i], distance, options.reach);
                at >= 0 && admitted(static_cast<std::size_t>(at)))
                best.push_back(static_cast<std::uint32_t>(at));
    std::ranges::sort(best);
    const auto repeated = std::ranges::unique(best);
    best.erase(repeated.begin(), repeated.end());
    for (const auto document : best) {
        const float own = sums.scores[document];
        float score = own;
        for (std::size_t i = 0; i < options.before.size(); ++i)
            if (const auto at = neighbour(view, document, -static_cast<int>(i) - 1, options.reach); at >= 0)
                score += options.before[i] * sums.scores[static_cast<std::size_t>(at)];
        for (std::size_t i = 0; i < options.after.size(); ++i)
            if (const auto at = neighbour(view, document, static_cast<int>(i) + 1, options.reach); at >= 0)
                score += options.after[i] * sums.scores[static_cast<std::size_t>(at)];
        if (score <= 0)
            continue;
        found.push_back({view.base + document, score, own, view.times[document], view.sessions[document]});
    }
}

using Parts = std::vector<std::shared_ptr<const IndexPart>>;

// The list of each term of the query in each part, and how many documents they are.
struct Looked {
    std::vector<std::vector<PostingList>> lists;
    TermCounts counts;
    std::uint64_t length = 0; // of all documents, in terms
};

Looked look_up(const Parts& all, const std::vector<QueryTerm>& query) {
    Looked looked;
    for (const auto& part : all) {
        looked.counts.documents += part->view().filled;
        looked.length += part->view().length;
    }
    std::uint32_t groups = 0;
    for (const auto& term : query)
        groups = std::max(groups, term.group + 1);
    looked.counts.in_group.assign(groups, 0);
    if (looked.counts.documents == 0)
        return looked;
    looked.lists.assign(all.size(), std::vector<PostingList>(query.size()));
    const auto occurs = [&](std::uint64_t term) {
        return std::ranges::any_of(all, [&](const auto& part) { return part->find(term).documents > 0; });
    };
    std::vector<bool> left_out(query.size());
    for (std::size_t t = 0; t < query.size(); ++t)
        left_out[t] =
            query[t].instead != 0 &&
            (t > 0 && query[t - 1].instead == query[t].instead ? left_out[t - 1] : occurs(query[t].instead));
    for (std::size_t p = 0; p < all.size(); ++p)
        for (std::size_t t = 0; t < query.size(); ++t) {
            if (left_out[t])
                continue;
            looked.lists[p][t] = all[p]->find(query[t].term);
            looked.counts.in_group[query[t].group] += looked.lists[p][t].documents;
        }
    return looked;
}

} // namespace

TermCounts RankedIndex::count(const std::vector<QueryTerm>& query) const {
    const std::shared_lock lock(mutex_);
    return look_up(parts(), query).counts;
}

RankedResult RankedIndex::search(const std::vector<QueryTerm>& query, const RankingOptions& options,
                                 const Admit& admit, std::int64_t deadline_us) const {
    RankedResult result;
    const std::shared_lock lock(mutex_); // the growing part may not change while we read it
    const auto all = parts();
    const auto looked = look_up(all, query);
    const auto& lists = looked.lists;
    if (looked.counts.documents == 0 || query.empty())
        return result;
    auto documents = looked.counts.documents;
    auto in_group = looked.counts.in_group;
    if (options.elsewhere != nullptr) {
        documents += options.elsewhere->documents;
        for (std::size_t group = 0; group < in_group.size(); ++group)
            in_group[group] += options.elsewhere->in_group[group];
    }

    std::array<float, 256> norms{};
    const float average =
        std::max(1.0F, static_cast<float>(looked.length) / static_cast<float>(looked.counts.documents));
    for (std::size_t code = 0; code < norms.size(); ++code)
        norms[code] = options.k1 *
                      (1 - options.b + options.b * length_of_code(static_cast<std::uint8_t>(code)) / average);

    thread_local Accumulator sums;
    std::vector<WeightedList> weighted;
    float floor = 0; // what the best so far reach by their own words
    // Newest first: when time runs out, what was looked at is what is most likely wanted.
    for (std::size_t p = all.size(); p-- > 0;) {
        if (deadline_us != 0 && monotonic_us() > deadline_us) {
            result.cut = true;
            break;
        }
        weighted.clear();
        for (std::size_t t = 0; t < query.size(); ++t) {
            if (lists[p][t].documents == 0)
                continue;
            const auto with = static_cast<double>(std::min(in_group[query[t].group], documents));
            const double rarity = std::log(1 + (static_cast<double>(documents) - with + 0.5) / (with + 0.5));
            weighted.push_back({lists[p][t], static_cast<float>(rarity) * query[t].weight * (options.k1 + 1),
                                query[t].group, query[t].variant});
        }
        const auto view = all[p]->view();
        sums.prepare(view.size);
        // Under a filter it is not known which of the best may be shown: every document is then looked at.
        score_part(view, weighted, norms, admit ? 0 : options.candidates, floor, sums);
        for (auto row = std::ranges::lower_bound(gone_, view.base);
             row != gone_.end() && *row < view.base + view.size; ++row)
            if (static_cast<std::size_t>(*row - view.base) < sums.scores.size())
                sums.scores[static_cast<std::size_t>(*row - view.base)] = 0.0F;
        collect_part(view, options, admit, sums, result.candidates);
        sums.clear();
        if (!admit && result.candidates.size() >= options.candidates) {
            const auto place =
                result.candidates.begin() + static_cast<std::ptrdiff_t>(options.candidates - 1);
            std::ranges::nth_element(result.candidates, place, std::greater{}, &Candidate::own);
            floor = place->own;
        }
    }
    const auto better = [](const Candidate& a, const Candidate& b) {
        return a.score != b.score ? a.score > b.score : a.row > b.row;
    };
    std::ranges::sort(result.candidates, better);
    if (result.candidates.size() > options.candidates)
        result.candidates.resize(options.candidates);
    return result;
}

} // namespace holdfast::memory
