// The ranked index: BM25 over all traces of a home, exact, without reading a trace.
//
// It is derived from the store and can be thrown away: files in one directory, each for a run of rows, plus
// the newest rows in memory. Why not FTS5's own ranking: it reads every match's row to score it (tens of
// milliseconds for a common word at a million rows); here a match costs a byte or two and an addition.
#pragma once

#include "memory/index/index_part.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace holdfast::memory {

struct QueryTerm {
    std::uint64_t term = 0;
    float weight = 1;
    std::uint32_t group = 0;   // terms of one group share one rarity: that of all of them together
    std::uint64_t instead = 0; // only looked for when this other term occurs nowhere; 0: always
    // Another reading of the term before it: a document has at most one of them. They share group and weight.
    bool variant = false;
};

// In how many documents the words of a question are: by group of its terms.
struct TermCounts {
    std::uint64_t documents = 0; // all there are
    std::vector<std::uint64_t> in_group;
};

struct RankingOptions {
    float k1 = 0.9F;
    float b = 0.4F;
    // How much of a neighbour's score in the same conversation a document gets, by distance: 1 before, 1
    // after, …
    std::vector<float> before = {0.30F, 0.12F};
    std::vector<float> after = {0.30F, 0.12F};
    std::size_t candidates = 200;
    std::uint32_t reach = 64; // rows looked through for a neighbour, when conversations are interleaved
    // Documents of another index that count for how rare a word is, so that the scores of both can be
    // compared.
    const TermCounts* elsewhere = nullptr;
};

// What a filter is told of a document.
struct DocumentPlace {
    std::int64_t row = 0;
    std::uint32_t session = 0;
    std::uint32_t time = 0; // seconds, as far as 32 bits go; before the epoch is the epoch
};
using Admit = std::function<bool(const DocumentPlace&)>;
DocumentPlace document_place(std::int64_t row, std::int64_t session, std::int64_t ts_ms) noexcept;

struct Candidate {
    std::int64_t row = 0;
    float score = 0;        // with neighbours
    float own = 0;          // its own words only
    std::uint32_t time = 0; // seconds
    std::uint32_t session = 0;
};

struct RankedResult {
    std::vector<Candidate> candidates; // best first
    bool cut = false; // the deadline came first: what was looked at is ranked, the rest is not there
};

class RankedIndex {
public:
    // Takes the segments that are there, from row 1 on without a gap in the files' ranges; removes files that
    // are damaged, covered by a larger one, or behind a gap. An empty directory name keeps everything in
    // memory. `store`: whose rows they are (Store::identity); all files of another store are removed. Empty:
    // not asked.
    static Result<std::unique_ptr<RankedIndex>> open(const std::string& directory,
                                                     const std::string& store = "");

    // The first row that is not indexed yet. Rows are added in rising order; gaps are rows that do not exist.
    [[nodiscard]] std::int64_t next_row() const;
    void add(std::int64_t row, std::uint32_t session, std::int64_t ts_ms, std::vector<std::uint64_t>& terms);

    // The row is gone: it is no hit and lends nothing to its neighbours. Kept in a small file beside the
    // segments until no file holds words of it any more.
    void remove(std::int64_t row);

    // Where a row is; nothing when it is not indexed, or gone.
    [[nodiscard]] std::optional<DocumentPlace> place(std::int64_t row) const;

    // Writes one file anew that holds words of rows that are gone, without them; false when there is none.
    // What it costs is the file's size, however many rows are gone from it. For the thread of maintain().
    Result<bool> purge_one();

    // Writes the newest rows to a file when there are at least `least` of them, and merges files so that
    // there are few. For one thread at a time; searches and add() go on meanwhile, but add() only from that
    // same thread. Error with EUCLEAN: a file does not match its checksum, so it is not merged into others.
    Result<void> maintain(std::uint32_t least = 4096);

    // `admit` decides on every document that is shown; empty: all are.
    [[nodiscard]] RankedResult search(const std::vector<QueryTerm>& query, const RankingOptions& options,
                                      const Admit& admit, std::int64_t deadline_us = 0) const;

    [[nodiscard]] TermCounts count(const std::vector<QueryTerm>& query) const;
    [[nodiscard]] std::uint64_t documents() const;
    [[nodiscard]] std::size_t files() const;
    // False when a file does not match its checksum.
    [[nodiscard]] bool sound() const;
    // How many of the documents are not gone.
    [[nodiscard]] std::uint64_t left() const;
    // All that are not gone, by row, and the first row that was not indexed at that moment.
    struct Inventory {
        std::vector<DocumentPlace> documents;
        std::int64_t next_row = 1;
    };
    [[nodiscard]] Inventory inventory() const;
    // Drops everything, files included; the caller adds all rows again.
    void clear();

private:
    explicit RankedIndex(std::string directory)
        : directory_(std::move(directory)) {}
    Result<void> load(const std::string& store);
    void load_gone();
    void write_gone() const;
    [[nodiscard]] std::vector<std::int64_t> gone_within(std::int64_t first, std::int64_t last) const;
    void drop_gone(const std::vector<std::int64_t>& rows);
    Result<void> merge_once(bool& merged);
    [[nodiscard]] std::vector<std::shared_ptr<const IndexPart>> parts() const;

    std::string directory_;
    mutable std::shared_mutex mutex_;
    std::vector<std::shared_ptr<SegmentFile>> segments_; // by row
    std::shared_ptr<GrowingPart> frozen_;                // being written to a file
    std::shared_ptr<GrowingPart> growing_;
    std::vector<std::int64_t> gone_; // by row
};

} // namespace holdfast::memory
