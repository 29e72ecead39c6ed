// Recall: from a question to the traces that answer it, without any model.
//
// One score from several channels: BM25 of stemmed words (pairs for CJK, triples for identifiers), what a
// date in the question or in the text means, the neighbours of a hit in its conversation, then recency and
// what feedback said. Near-copies of a better hit come last. A trace that was answered is found by the next
// call: a search waits for the indexer to have seen it (microseconds as a rule), unless that has thousands of
// rows to catch up with; the answer says so then.
#pragma once

#include "memory/index/ranked_index.hpp"
#include "memory/repository/damage.hpp"
#include "memory/text/analyzer.hpp"
#include "memory/writer/store.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::memory {

// How many hits of each tier at most; 0: the tier is not searched.
struct TierLimits {
    std::size_t skills = 0;
    std::size_t traces_and_policies = 0;
    std::size_t world_models = 0;
};

struct RecallQuery {
    std::string text;
    std::int64_t now_ms = 0;              // what "last Tuesday" is relative to
    std::size_t top_k = 10;               // of all tiers together
    std::optional<TierLimits> tiers = {}; // instead of top_k
    std::int64_t session_row = 0;         // only this session; 0: all
    std::int64_t episode_row = 0;         // only this episode; 0: all
    std::string agent = {};               // only sessions of this agent; empty: all
    std::string name_space = {};          // only sessions of this namespace (as stored); empty: all
    std::int64_t from_ms = 0;             // only traces of that time; 0: open
    std::int64_t until_ms = 0;
    std::int64_t deadline_us = 0; // monotonic; 0: none
    std::size_t budget = 4000;    // bytes of injected context
};

struct Hit {
    int tier = 2;     // 1 skills, 2 traces and policies, 3 world models
    std::string kind; // trace, skill, policy, world-model
    std::string id;
    double score = 0; // 0..1, comparable within one answer
    std::string snippet;
    std::int64_t ts = 0;
    std::string session_id = {};
    std::string episode_id = {};
    float weight = 0; // the score before it was brought to 0..1
};

struct Recalled {
    std::vector<Hit> hits; // best first
    std::string injected;
    bool cut = false;
    std::int64_t objects_us = 0; // time spent per tier
    std::int64_t traces_us = 0;
};

class Recall {
public:
    // Loads the index from `directory` and starts the thread that brings it up to date. `progress` is called
    // from that thread while it has many rows to catch up with, and with Phase::ready when it has.
    static Result<std::unique_ptr<Recall>> open(Store& store, const std::string& directory,
                                                OnProgress progress);
    ~Recall();
    Recall(const Recall&) = delete;
    Recall& operator=(const Recall&) = delete;

    // To be called after a commit with what it changed (StoreOptions::on_changes).
    void committed(const RowChanges& changes);
    // To be called after a policy, world model or skill has changed.
    void objects_changed() noexcept { ++objects_version_; }

    Result<Recalled> search(const RecallQuery& query);

    // One more channel: rows that are like the question (cosine, up to 1), found by other means than words.
    // Its best row counts `weight` times as much as the best match of words. To be set before the first
    // search.
    struct Like {
        std::int64_t row = 0;
        float likeness = 0;
    };
    // Asked for each row that would be among them; empty: all may.
    using AdmitRow = std::function<bool(std::int64_t row)>;
    using Channel =
        std::function<std::vector<Like>(const std::string& question, std::size_t most,
                                        std::int64_t deadline_us, const AdmitRow& admit, bool& cut)>;
    void set_channel(Channel channel, double weight) {
        channel_ = std::move(channel);
        channel_weight_ = static_cast<float>(weight);
    }

    // Throws the index away and builds it again from the text; returns at once, progress tells when it is
    // done.
    void rebuild();
    // Compares the index with its checksums and with the rows of the store. Documents whose rows are gone are
    // taken out (repaired); with any other difference it is built again (rebuilding), which goes on after the
    // return.
    enum class Agreement : std::uint8_t { sound, repaired, rebuilding };
    Result<Agreement> check();
    // How far the index is: rows that are in it, of those that are committed.
    struct Indexed {
        std::int64_t done = 0;
        std::int64_t total = 0;
    };
    Indexed indexed();
    // Rows of traces that cannot be read, and are therefore not found: the store is damaged there. They are
    // passed over, and what is behind them is indexed; the next start tries them again. Damage of the other
    // tables that a search reads is named on stderr only.
    struct Unreadable {
        std::int64_t first = 0;
        std::int64_t last = 0; // none_after: to the end
        std::string why;
    };
    std::vector<Unreadable> unreadable() const;
    // Waits until everything committed so far is indexed, at most this long. False: not yet.
    bool wait_indexed(std::int64_t at_most_ms);
    [[nodiscard]] RankedIndex& index() noexcept { return *index_; }
    // Writes the newest rows out and stops.
    void close();

private:
    struct ObjectIndex;
    Recall(Store& store, OnProgress progress)
        : store_(store)
        , progress_(std::move(progress)) {}
    void indexer_loop();
    // `rebuilding`: it would have to be.
    Result<Agreement> compare_rows();
    // False: there are not as many documents as rows that they were made from.
    Result<bool> counts_agree(Database& database, std::int64_t next_trace) const;
    // False when not all that was committed is indexed yet.
    bool wait_for_recent(std::int64_t deadline_us);
    // Indexes up to `limit` rows that are not yet; false when there was none.
    Result<bool> index_some(Analyzer& analyzer, std::size_t limit);
    // Whether these rows are to be passed over now, and not to be tried again.
    bool pass_over(const Error& why);
    // Each once, on stderr.
    void name_unreadable(std::string_view table, std::int64_t first, std::int64_t last, const Error& why);
    PassedOver passed_over() {
        return [this](std::string_view table, std::int64_t first, std::int64_t last, const Error& why) {
            name_unreadable(table, first, last, why);
        };
    }
    Result<std::shared_ptr<ObjectIndex>> objects(Analyzer& analyzer);
    // The best of each kind, `limits` of them, best first. An object is of the time when it was last changed,
    // and of no session, agent or episode.
    Result<std::vector<Hit>> search_objects(Analyzer& analyzer, const RecallQuery& query,
                                            const TierLimits& limits, const std::vector<QueryTerm>& terms);
    // Appends up to `limit` hits, near-copies last, and says how many are none.
    Result<std::size_t> search_traces(Analyzer& analyzer, const RecallQuery& query, std::size_t limit,
                                      const std::vector<QueryTerm>& terms, Recalled& recalled);

    Result<void> add_alike(Database& database, const RecallQuery& query, const Admit& admit,
                           RankedResult& ranked);

    Store& store_;
    OnProgress progress_;
    Channel channel_;
    float channel_weight_ = 0;
    std::unique_ptr<RankedIndex> index_;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable caught_up_;
    std::int64_t committed_row_ = 0;
    std::int64_t indexed_row_ = 0;
    bool rebuild_ = false;
    bool purge_ = true; // files may hold words of rows that are gone
    bool stopping_ = false;
    std::thread indexer_;
    std::int64_t passed_row_ = 0; // the indexer's: rows up to this one are not tried again
    int failures_ = 0;            // the indexer's: one after the other at the same row

    mutable std::mutex unreadable_mutex_;
    std::vector<Unreadable> unreadable_;
    std::vector<std::string> named_elsewhere_; // what was said of other tables, with which no more is said

    std::atomic<std::uint64_t> objects_version_ = 1;
    std::mutex objects_mutex_;
    std::shared_ptr<ObjectIndex> objects_;
};

// The terms of a question: words without content left out (unless there are no others), dates understood.
std::vector<QueryTerm> query_terms(Analyzer& analyzer, std::string_view text, std::int64_t now_ms);

// What is searched of a trace's two texts: 64 KiB, shared by them as they need it. Snippets are cut from it.
std::string searched_text(std::string_view user, std::string_view agent);
// What is searched besides: its reflection, tags and tool calls (as JSON), so much of each.
std::string searched_details(std::string_view reflection, std::string_view tags, std::string_view tool_calls);

// The terms under which a trace is found.
void document_terms(Analyzer& analyzer, std::string_view text, std::int64_t ts,
                    std::vector<std::uint64_t>& terms);

// About `length` bytes of the text with as many of the query's terms in view as possible, cut at words.
struct Snippet {
    std::string text;
    bool matched = false; // a term of the query is in the text
};
Snippet snippet_of(Analyzer& analyzer, std::string_view text, const std::vector<QueryTerm>& query,
                   std::size_t length, std::vector<std::uint64_t>* terms_of_text = nullptr);

// A score of the ranking as it is shown: 0 to 1.
double shown_score(float weight) noexcept;

// One list of both, by score, with at most `top_k` entries. The traces behind the first `distinct` are
// near-copies and stay last. Of each kind of object the best has a place, if it fits about as well as the
// best hit and there are three places or more for each such object: objects are few and say in one what many
// traces say, and the traces that they were drawn from would fill all places with the same words.
std::vector<Hit> placed(std::vector<Hit> traces, std::size_t distinct, std::vector<Hit> objects,
                        std::size_t top_k);
// The same with a number of places for each tier.
std::vector<Hit> placed_by_tier(std::vector<Hit> traces, std::size_t distinct, std::vector<Hit> objects,
                                const TierLimits& limits);

// The hits as one block for a prompt: marked as data, within the budget, one line each, and nothing in any
// field of a hit can close the block or begin a line. A hit that does not fit is left out.
std::string injected_context(const std::vector<Hit>& hits, std::size_t budget);

} // namespace holdfast::memory
