// Searching: candidates from the index, their rows from the store, one ranking.
#include "base/utf8.hpp"
#include "memory/recall/recall.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/trace_scan.hpp"
#include "memory/text/letters.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::size_t snippet_length = 280;
constexpr std::size_t details_length = 160; // of it, when the match is in none of the texts
constexpr std::size_t candidates_behind_copies = 2000;
constexpr std::int64_t most_of_episode = 100'000; // rows

struct Row {
    Hit hit;
    float score = 0;
    std::string text;
    std::int64_t row = 0;
    bool own_words = false; // it is found by them, and not only by its neighbours
};

// Which traces a query may see, as far as the index can tell: by session, by second and by row. Asked for
// each match, so each session's row is read once, and the rows of an episode before.
class RowFilter {
public:
    static Result<RowFilter> make(Database& database, const RecallQuery& query, PassedOver passed_over) {
        RowFilter filter(database, query, std::move(passed_over));
        if (query.episode_row != 0)
            if (auto read = filter.read_episode(); !read)
                return std::unexpected(std::move(read.error()));
        return filter;
    }
    [[nodiscard]] bool needed() const {
        return by_session() || query_.episode_row != 0 || query_.from_ms != 0 || query_.until_ms != 0;
    }
    bool admits(const DocumentPlace& place) {
        const std::int64_t second = place.time;
        if ((query_.from_ms != 0 && second < query_.from_ms / 1000) ||
            (query_.until_ms != 0 && second > std::max<std::int64_t>(0, query_.until_ms / 1000)))
            return false;
        if (query_.episode_row != 0 && !std::ranges::binary_search(episode_, place.row))
            return false;
        if (query_.session_row != 0)
            return place.session == static_cast<std::uint32_t>(query_.session_row);
        if (!by_session())
            return true;
        const auto [found, fresh] = known_.try_emplace(place.session, false);
        if (fresh)
            found->second = look_up(place.session);
        return found->second;
    }

private:
    RowFilter(Database& database, const RecallQuery& query, PassedOver passed_over)
        : database_(database)
        , query_(query)
        , passed_over_(std::move(passed_over)) {}
    [[nodiscard]] bool by_session() const {
        return query_.session_row != 0 || !query_.agent.empty() || !query_.name_space.empty();
    }
    Result<void> read_episode() {
        auto rows = trace_rows_in(database_, query_.episode_row, most_of_episode);
        if (!rows)
            return std::unexpected(std::move(rows.error()));
        episode_ = std::move(*rows);
        return {};
    }
    bool look_up(std::uint32_t session) {
        const auto scope = session_scope(database_, session);
        if (!scope && is_corrupt(scope.error()))
            passed_over_("sessions", session, session, scope.error());
        return scope && *scope && (query_.agent.empty() || (*scope)->agent == query_.agent) &&
               (query_.name_space.empty() || (*scope)->name_space.empty() ||
                (*scope)->name_space == query_.name_space);
    }
    Database& database_;
    const RecallQuery& query_;
    PassedOver passed_over_;
    std::unordered_map<std::uint32_t, bool> known_;
    std::vector<std::int64_t> episode_;
};

// The id of what a trace stands in; none where it cannot be read.
std::string readable_id(Result<std::string> id, std::string_view table, std::int64_t row,
                        const PassedOver& passed_over) {
    if (!id && is_corrupt(id.error()))
        passed_over(table, row, row, id.error());
    return id ? std::move(*id) : "";
}

Result<std::optional<Row>> fetch(Database& database, const Candidate& candidate, const RecallQuery& query,
                                 const PassedOver& passed_over) {
    auto found = ranked_trace(database, candidate.row);
    if (!found)
        return std::unexpected(std::move(found.error()));
    // Forgotten, or changed since (then it has another row): the index may still know the old one.
    if (!*found || (query.episode_row != 0 && (*found)->episode_row != query.episode_row))
        return std::optional<Row>();
    auto& trace = **found;
    if ((query.from_ms != 0 && trace.ts < query.from_ms) ||
        (query.until_ms != 0 && trace.ts >= query.until_ms))
        return std::optional<Row>();
    Row result;
    result.hit.kind = "trace";
    result.hit.id = std::move(trace.id);
    result.hit.ts = trace.ts;
    result.hit.session_id =
        readable_id(session_id_at(database, trace.session_row), "sessions", trace.session_row, passed_over);
    result.hit.episode_id =
        readable_id(episode_id_at(database, trace.episode_row), "episodes", trace.episode_row, passed_over);
    result.text = searched_text(trace.user_text, trace.agent_text);
    result.row = candidate.row;
    result.own_words = candidate.own > 0;
    // Feedback moves a trace by at most a quarter, priority and recency by a few percent: they decide between
    // traces that fit about equally well, never against the words of the question.
    const double age_days = std::max(0.0, static_cast<double>(query.now_ms - trace.ts) / 86'400'000.0);
    const double factor = (1 + 0.25 * trace.value) * (1 + 0.06 * (trace.priority - 0.5)) *
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

// Where else the words of a hit may be: in what it was filed under, and in what was done.
std::string details_of(Database& database, std::int64_t row) {
    const auto details = trace_details(database, row);
    return details && *details
               ? searched_details((*details)->reflection, (*details)->tags, (*details)->tool_calls)
               : "";
}

// The rows that say something different, out of batches that come one after another; copies are kept aside.
class Choice {
public:
    Choice(Database& database, Analyzer& analyzer, const std::vector<QueryTerm>& terms, std::size_t limit)
        : database_(database)
        , analyzer_(analyzer)
        , terms_(terms)
        , limit_(limit) {}

    void add(std::vector<Row> rows) {
        std::ranges::stable_sort(rows, std::greater{}, &Row::score);
        for (auto& row : rows)
            if (hits_.size() < limit_)
                add(std::move(row));
    }
    // There were copies, and there is room for what they may have kept out. Reading is bounded by the text
    // as well as by the rows: these can be long.
    [[nodiscard]] bool wants_more() const {
        constexpr std::size_t most_text = 256 * 1024;
        return copied_ && hits_.size() < limit_ && text_read_ < most_text;
    }
    // Appends them, best first, then copies while there is room; says how many are none.
    std::size_t finish(std::vector<Hit>& hits) {
        std::ranges::stable_sort(hits_, std::greater{}, &Hit::weight);
        const auto distinct = hits_.size();
        std::ranges::move(hits_, std::back_inserter(hits));
        copies_.resize(std::min(copies_.size(), limit_ - distinct));
        std::ranges::move(copies_, std::back_inserter(hits));
        return distinct;
    }

private:
    void add(Row row) {
        row.hit.score = shown_score(row.score);
        row.hit.weight = row.score;
        const auto [same, fresh] = snippets_.try_emplace(row.text);
        std::vector<std::uint64_t> own;
        if (fresh) {
            same->second = snippet_of_row(row, own);
            std::ranges::sort(own);
        }
        text_read_ += row.text.size();
        row.hit.snippet = same->second;
        if (!fresh ||
            std::ranges::any_of(words_, [&](const auto& other) { return likeness(own, other) > 0.9; })) {
            copied_ = true;
            if (copies_.size() < limit_)
                copies_.push_back(std::move(row.hit));
            return;
        }
        words_.push_back(std::move(own));
        hits_.push_back(std::move(row.hit));
    }

    // With the match in view, wherever it is: some of the text, then what it was found by.
    std::string snippet_of_row(const Row& row, std::vector<std::uint64_t>& own) {
        auto snippet = snippet_of(analyzer_, row.text, terms_, snippet_length, &own);
        if (snippet.matched || !row.own_words)
            return std::move(snippet.text);
        const auto found = snippet_of(analyzer_, details_of(database_, row.row), terms_, details_length);
        if (!found.matched)
            return std::move(snippet.text); // by its date
        auto begin = base::cut_at_character(row.text, snippet_length - details_length);
        return cat(begin, begin.size() < row.text.size() ? "… [" : " [", found.text, "]");
    }

    Database& database_;
    Analyzer& analyzer_;
    const std::vector<QueryTerm>& terms_;
    std::size_t limit_;
    std::vector<Hit> hits_;
    std::vector<Hit> copies_;
    bool copied_ = false;
    std::size_t text_read_ = 0;
    std::vector<std::vector<std::uint64_t>> words_;         // of each hit, sorted
    std::unordered_map<std::string, std::string> snippets_; // by text: an exact copy costs no analysis
};

} // namespace

double shown_score(float weight) noexcept {
    return std::round(static_cast<double>(weight) / (static_cast<double>(weight) + 6) * 1e4) / 1e4;
}

Result<std::size_t> Recall::search_traces(Analyzer& analyzer, const RecallQuery& query, std::size_t limit,
                                          const std::vector<QueryTerm>& terms, Recalled& recalled) {
    auto reader = store_.reader();
    if (!reader)
        return std::unexpected(std::move(reader.error()));
    auto filter = RowFilter::make(**reader, query, passed_over());
    if (!filter)
        return std::unexpected(std::move(filter.error()));
    Admit admit;
    if (filter->needed())
        admit = [&](const DocumentPlace& place) { return filter->admits(place); };
    RankingOptions options;
    options.candidates = std::max<std::size_t>(100, limit * 2);
    auto ranked = index_->search(terms, options, admit, query.deadline_us);
    if (channel_)
        if (auto added = add_alike(**reader, query, admit, ranked); !added)
            return std::unexpected(std::move(added.error()));
    recalled.cut = ranked.cut;
    Choice choice(**reader, analyzer, terms, limit);
    // A few more than asked for: feedback and recency reorder them.
    const std::size_t batch = limit + limit / 2 + 5;
    std::unordered_set<std::int64_t> known; // looked at before the index was asked for more
    for (std::size_t next = 0;;) {
        std::vector<Row> rows;
        for (; next < ranked.candidates.size() && rows.size() < batch; ++next) {
            if (query.deadline_us != 0 && monotonic_us() > query.deadline_us) {
                recalled.cut = true;
                break;
            }
            if (known.contains(ranked.candidates[next].row))
                continue;
            auto row = fetch(**reader, ranked.candidates[next], query, passed_over());
            if (!row && is_corrupt(row.error())) {
                // It was indexed before it was damaged; the others can still be found.
                const auto damaged = ranked.candidates[next].row;
                name_unreadable("traces", damaged, damaged, row.error());
                continue;
            }
            if (!row)
                return std::unexpected(std::move(row.error()));
            if (*row)
                rows.push_back(std::move(**row));
        }
        choice.add(std::move(rows));
        // What is said every day in the same words must not hide what was said once: behind copies the
        // search goes on, so far.
        if (recalled.cut || !choice.wants_more())
            break;
        if (next < ranked.candidates.size())
            continue;
        if (options.candidates >= candidates_behind_copies || ranked.candidates.size() < options.candidates)
            break;
        for (const auto& candidate : ranked.candidates)
            known.insert(candidate.row);
        options.candidates = candidates_behind_copies;
        ranked = index_->search(terms, options, admit, query.deadline_us);
        recalled.cut |= ranked.cut;
        next = 0;
    }
    return choice.finish(recalled.hits);
}

// Both channels on one scale: the best match of words is the measure of what a perfect likeness is worth.
Result<void> Recall::add_alike(Database& database, const RecallQuery& query, const Admit& admit,
                               RankedResult& ranked) {
    constexpr std::size_t most_alike = 100;
    constexpr float without_words = 6; // what the best is worth when no word matched
    AdmitRow admit_row;
    if (admit) // a filter finds what fits however much else is more alike
        admit_row = [&](std::int64_t row) {
            const auto place = index_->place(row);
            return place && admit(*place);
        };
    const auto alike = channel_(query.text, most_alike, query.deadline_us, admit_row, ranked.cut);
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
        const auto stored = place_of_trace(database, like.row);
        if (stored && *stored &&
            (!admit || admit(document_place(like.row, (*stored)->session_row, (*stored)->ts))))
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
    auto objects = search_objects(analyzer, query, tiers.value_or(TierLimits{few, few, few}), terms);
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
