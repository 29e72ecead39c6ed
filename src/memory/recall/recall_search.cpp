// Searching: candidates from the index, their rows from the store, one ranking.
#include "memory/recall/recall.hpp"

#include "core/text.hpp"
#include "memory/store/ids.hpp"
#include "memory/store/rows.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace holdfast::memory {

using core::cat;

namespace {

constexpr std::size_t snippet_length = 280;

struct Row {
    Hit hit;
    float score = 0;
    std::string text;
};

// Which sessions a query may see. Asked for each match, so each session's row is read once.
class SessionFilter {
public:
    SessionFilter(Database& database, const RecallQuery& query)
        : database_(database)
        , query_(query) {}
    [[nodiscard]] bool needed() const {
        return query_.session_row != 0 || !query_.agent.empty() || !query_.name_space.empty();
    }
    bool admits(std::uint32_t session) {
        if (query_.session_row != 0)
            return session == static_cast<std::uint32_t>(query_.session_row);
        const auto [found, fresh] = known_.try_emplace(session, false);
        if (fresh)
            found->second = look_up(session);
        return found->second;
    }

private:
    bool look_up(std::uint32_t session) {
        auto row = database_.prepare("SELECT agent, namespace FROM sessions WHERE row=?1");
        if (!row)
            return false;
        (*row)->bind(1, static_cast<std::int64_t>(session));
        const ScopedReset reset(**row);
        const auto step = (*row)->step();
        return step && *step && (query_.agent.empty() || (*row)->text(0) == query_.agent) &&
               (query_.name_space.empty() || (*row)->text(1).empty() || (*row)->text(1) == query_.name_space);
    }
    Database& database_;
    const RecallQuery& query_;
    std::unordered_map<std::uint32_t, bool> known_;
};

Result<std::optional<Row>> fetch(Database& database, const Candidate& candidate, const RecallQuery& query) {
    auto row = database.prepare(
        "SELECT t.id, t.ts, t.user_text, t.agent_text, t.value, t.priority, t.episode, s.id, e.id"
        " FROM traces t JOIN sessions s ON s.row=t.session JOIN episodes e ON e.row=t.episode"
        " WHERE t.row=?1");
    if (!row)
        return std::unexpected(std::move(row.error()));
    (*row)->bind(1, candidate.row);
    const ScopedReset reset(**row);
    auto step = (*row)->step();
    if (!step)
        return std::unexpected(std::move(step.error()));
    // Forgotten, or changed since (then it has another row): the index may still know the old one.
    if (!*step || (query.episode_row != 0 && (*row)->integer(6) != query.episode_row))
        return std::optional<Row>();
    const auto ts = (*row)->integer(1);
    if ((query.from_ms != 0 && ts < query.from_ms) || (query.until_ms != 0 && ts >= query.until_ms))
        return std::optional<Row>();
    Row result;
    result.hit.kind = "trace";
    result.hit.id = (*row)->string(0);
    result.hit.ts = ts;
    result.hit.session_id = (*row)->string(7);
    result.hit.episode_id = (*row)->string(8);
    const auto user = (*row)->text(2);
    const auto agent = (*row)->text(3);
    result.text = user.empty()    ? std::string(agent)
                  : agent.empty() ? std::string(user)
                                  : cat(user, "\n", agent);
    // Feedback moves a trace by at most a quarter, priority and recency by a few percent: they decide between
    // traces that fit about equally well, never against the words of the question.
    const double age_days = std::max(0.0, static_cast<double>(query.now_ms - ts) / 86'400'000.0);
    const double factor = (1 + 0.25 * (*row)->real(4)) * (1 + 0.06 * ((*row)->real(5) - 0.5)) *
                          (1 + 0.05 * std::exp(-age_days / 30.0));
    result.score = candidate.score * static_cast<float>(factor);
    return std::optional(std::move(result));
}

// Share of terms two sorted lists have in common.
double likeness(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    if (a.empty() || b.empty())
        return 0;
    std::size_t common = 0;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i] == b[j]) {
            ++common;
            ++i;
            ++j;
        } else if (a[i] < b[j]) {
            ++i;
        } else {
            ++j;
        }
    }
    return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

} // namespace

double shown_score(float weight) noexcept {
    return std::round(static_cast<double>(weight) / (static_cast<double>(weight) + 6) * 1e4) / 1e4;
}

Result<std::size_t> Recall::search_traces(Analyzer& analyzer, const RecallQuery& query, std::size_t limit,
                                          const std::vector<QueryTerm>& terms, Recalled& recalled) {
    auto reader = store_.reader();
    if (!reader)
        return std::unexpected(std::move(reader.error()));
    SessionFilter filter(**reader, query);
    std::function<bool(std::uint32_t)> admit;
    if (filter.needed())
        admit = [&](std::uint32_t session) { return filter.admits(session); };
    RankingOptions options;
    // Filters that the index does not know are applied to the rows: more candidates make up for what they
    // drop.
    const bool row_filter = query.episode_row != 0 || query.from_ms != 0 || query.until_ms != 0;
    options.candidates = row_filter ? 2000 : std::max<std::size_t>(100, limit * 2);
    auto ranked = index_->search(terms, options, admit, query.deadline_us);
    if (channel_)
        if (auto added = add_alike(**reader, query, admit, ranked); !added)
            return std::unexpected(std::move(added.error()));
    recalled.cut = ranked.cut;
    std::vector<Row> rows;
    // A few more than asked for: feedback and recency reorder them, copies fall out.
    const std::size_t wanted = limit + limit / 2 + 5;
    for (const auto& candidate : ranked.candidates) {
        if (rows.size() >= wanted)
            break;
        if (query.deadline_us != 0 && monotonic_us() > query.deadline_us) {
            recalled.cut = true;
            break;
        }
        auto row = fetch(**reader, candidate, query);
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (*row)
            rows.push_back(std::move(**row));
    }
    std::ranges::stable_sort(rows, std::greater{}, &Row::score);
    std::vector<std::vector<std::uint64_t>> chosen;
    std::vector<Row*> copies;
    std::size_t taken = 0;
    for (auto& row : rows) {
        if (taken >= limit)
            break;
        std::vector<std::uint64_t> own;
        row.hit.snippet = snippet_of(analyzer, row.text, terms, snippet_length, &own);
        row.hit.score = shown_score(row.score);
        row.hit.weight = row.score;
        std::ranges::sort(own);
        if (std::ranges::any_of(chosen, [&](const auto& other) { return likeness(own, other) > 0.9; })) {
            copies.push_back(&row);
            continue;
        }
        chosen.push_back(std::move(own));
        recalled.hits.push_back(std::move(row.hit));
        ++taken;
    }
    const auto distinct = taken;
    for (auto* copy : copies)
        if (taken < limit) {
            recalled.hits.push_back(std::move(copy->hit));
            ++taken;
        }
    return distinct;
}

// Both channels on one scale: the best match of words is the measure of what a perfect likeness is worth.
Result<void> Recall::add_alike(Database& database, const RecallQuery& query,
                               const std::function<bool(std::uint32_t)>& admit, RankedResult& ranked) {
    constexpr std::size_t most_alike = 100;
    constexpr float without_words = 6; // what the best is worth when no word matched
    const auto alike = channel_(query.text, most_alike, query.deadline_us, ranked.cut);
    const float best = ranked.candidates.empty() ? without_words : ranked.candidates.front().score;
    std::unordered_map<std::int64_t, Candidate*> known;
    for (auto& candidate : ranked.candidates)
        known.emplace(candidate.row, &candidate);
    std::vector<Candidate> fresh;
    for (const auto& like : alike) {
        const float bonus = channel_weight_ * best * std::max(0.0F, like.likeness);
        if (const auto found = known.find(like.row); found != known.end()) {
            found->second->score += bonus;
            continue;
        }
        auto session = database.prepare("SELECT session FROM traces WHERE row=?1");
        if (!session)
            return std::unexpected(std::move(session.error()));
        (*session)->bind(1, like.row);
        const ScopedReset reset(**session);
        const auto step = (*session)->step();
        if (step && *step && (!admit || admit(static_cast<std::uint32_t>((*session)->integer(0)))))
            fresh.push_back({.row = like.row, .score = bonus});
    }
    ranked.candidates.insert(ranked.candidates.end(), fresh.begin(), fresh.end());
    std::ranges::stable_sort(ranked.candidates, std::greater{}, &Candidate::score);
    return {};
}

Result<Recalled> Recall::search(const RecallQuery& query) {
    thread_local Analyzer analyzer;
    Recalled recalled;
    // What was answered before this call must be found by it; a long catch-up at start is not waited for.
    const bool all_there = wait_for_recent(query.deadline_us);
    const auto begun = monotonic_us();
    const auto terms = query_terms(analyzer, query.text, query.now_ms);
    const auto& tiers = query.tiers;
    std::size_t distinct = 0;
    if (const auto limit = tiers ? tiers->traces_and_policies : query.top_k; limit > 0) {
        auto done = search_traces(analyzer, query, limit, terms, recalled);
        if (!done)
            return std::unexpected(std::move(done.error()));
        distinct = *done;
    }
    recalled.cut |= !all_there;
    recalled.traces_us = monotonic_us() - begun;
    const auto few = std::min<std::size_t>(query.top_k, 5);
    auto objects = search_objects(analyzer, tiers.value_or(TierLimits{few, few, few}), terms);
    if (!objects)
        return std::unexpected(std::move(objects.error()));
    recalled.objects_us = monotonic_us() - begun - recalled.traces_us;
    if (!objects->empty())
        recalled.hits = tiers
                            ? placed_by_tier(std::move(recalled.hits), distinct, std::move(*objects), *tiers)
                            : placed(std::move(recalled.hits), distinct, std::move(*objects), query.top_k);
    recalled.injected = injected_context(recalled.hits, query.budget);
    return recalled;
}

} // namespace holdfast::memory
