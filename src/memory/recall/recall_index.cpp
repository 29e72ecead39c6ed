// Keeping the ranked index in step with the store.
#include "memory/recall/recall.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/trace_scan.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace holdfast::memory {

namespace {

constexpr std::chrono::milliseconds purge_pause(500);

// The number of a row in a damaged page, higher than any that was given.
bool is_beyond_all(Database& database, std::int64_t last, std::int64_t row) {
    if (row == last + 1)
        return false;
    const auto next = next_trace_row(database);
    return next && row >= *next;
}

} // namespace

Result<std::unique_ptr<Recall>> Recall::open(Store& store, const std::string& directory,
                                             OnProgress progress) {
    std::unique_ptr<Recall> recall(new Recall(store, std::move(progress)));
    auto index = RankedIndex::open(directory, store.identity());
    if (!index)
        return std::unexpected(std::move(index.error()));
    recall->index_ = std::move(*index);
    auto reader = store.reader();
    if (!reader)
        return std::unexpected(std::move(reader.error()));
    auto next = next_trace_row(**reader);
    if (!next)
        return std::unexpected(std::move(next.error()));
    if (recall->index_->next_row() > *next)
        recall->index_->clear(); // the store was set back to an earlier state: it has no such rows
    // What cannot be read is no reason not to open: a store that is damaged in its middle stays in use.
    if (const auto agree = recall->counts_agree(**reader, *next); agree && !*agree)
        if (const auto compared = recall->compare_rows(); compared && *compared == Agreement::rebuilding)
            recall->index_->clear();
    recall->committed_row_ = *next - 1;
    recall->indexed_row_ = recall->index_->next_row() - 1;
    recall->indexer_ = std::thread([raw = recall.get()] { raw->indexer_loop(); });
    return recall;
}

Recall::~Recall() {
    close();
}

void Recall::committed(const RowChanges& changes) {
    for (const auto row : changes.went)
        index_->remove(row);
    const std::lock_guard lock(mutex_);
    purge_ |= !changes.went.empty();
    for (const auto row : changes.came)
        committed_row_ = std::max(committed_row_, row);
    wake_.notify_one();
}

void Recall::rebuild() {
    const std::lock_guard lock(mutex_);
    rebuild_ = true;
    wake_.notify_one();
}

Recall::Indexed Recall::indexed() {
    const std::lock_guard lock(mutex_);
    return {rebuild_ ? 0 : std::min(indexed_row_, committed_row_), committed_row_};
}

bool Recall::wait_indexed(std::int64_t at_most_ms) {
    std::unique_lock lock(mutex_);
    const auto goal = committed_row_;
    return caught_up_.wait_for(lock, std::chrono::milliseconds(at_most_ms),
                               [&] { return (indexed_row_ >= goal && !rebuild_) || stopping_; });
}

bool Recall::wait_for_recent(std::int64_t deadline_us) {
    constexpr std::int64_t a_few = 2000;
    std::int64_t wait_us = 2'000'000;
    if (deadline_us != 0)
        wait_us = std::clamp<std::int64_t>(deadline_us - monotonic_us(), 0, wait_us);
    std::unique_lock lock(mutex_);
    const auto goal = committed_row_;
    caught_up_.wait_for(lock, std::chrono::microseconds(wait_us),
                        [&] { return indexed_row_ >= goal || goal - indexed_row_ > a_few || stopping_; });
    return indexed_row_ >= goal;
}

void Recall::indexer_loop() {
    Analyzer analyzer;
    std::int64_t told = monotonic_ms();
    bool behind = true;
    std::unique_lock lock(mutex_);
    for (;;) {
        if (rebuild_) {
            index_->clear();
            indexed_row_ = 0;
            passed_row_ = 0;
            behind = true;
            rebuild_ = false;
        }
        if (indexed_row_ >= committed_row_) {
            caught_up_.notify_all();
            if (behind) {
                behind = false;
                lock.unlock();
                progress_({Phase::ready, 0, 0, ""});
                lock.lock();
                continue;
            }
            if (stopping_)
                return;
            const auto called = [&] { return stopping_ || rebuild_ || indexed_row_ < committed_row_; };
            if (!purge_) {
                wake_.wait(lock, [&] { return purge_ || called(); });
            } else if (!wake_.wait_for(lock, purge_pause, called)) {
                // Nobody needs the index brought up to date: a good time to write a file without what is
                // gone. One at a time, with a pause: somebody may be forgetting many.
                purge_ = false;
                lock.unlock();
                const auto more = index_->purge_one();
                lock.lock();
                purge_ |= more && *more;
            }
            if (stopping_)
                return;
            continue;
        }
        if (stopping_)
            return; // the rest is indexed at the next start, from the store
        const auto goal = committed_row_;
        lock.unlock();
        auto some = index_some(analyzer, 256);
        if (some) {
            // A full disk keeps the rows in memory; they are written later.
            const auto kept = index_->maintain();
            if (!kept && kept.error().sys == EUCLEAN)
                rebuild();
        }
        const auto reached =
            some && !*some ? goal : std::min(goal, std::max(passed_row_, index_->next_row() - 1));
        if (goal - reached > 1000 && monotonic_ms() - told > 100) {
            told = monotonic_ms();
            behind = true;
            progress_({Phase::indexing, static_cast<std::uint64_t>(reached), static_cast<std::uint64_t>(goal),
                       "indexing traces"});
        }
        lock.lock();
        if (!some) {
            // The store cannot be read now (a full disk, an I/O error). Without a pause this would spin.
            wake_.wait_for(lock, std::chrono::milliseconds(500), [&] { return stopping_; });
            continue;
        }
        indexed_row_ = std::max(indexed_row_, reached);
        caught_up_.notify_all();
    }
}

std::vector<Recall::Unreadable> Recall::unreadable() const {
    const std::lock_guard lock(unreadable_mutex_);
    return unreadable_;
}

bool Recall::pass_over(const Error& why) {
    constexpr int most_failures = 3; // of a disk that may have recovered
    if (is_corrupt(why))
        return true;
    return why.code == Errc::io && ++failures_ >= most_failures;
}

void Recall::name_unreadable(std::string_view table, std::int64_t first, std::int64_t last,
                             const Error& why) {
    constexpr std::size_t most_named = 1000;
    const auto rows = last >= none_after ? base::cat("rows from ", first, " on")
                      : first == last    ? base::cat("row ", first)
                                         : base::cat("rows ", first, " to ", last);
    std::string meaning = "cannot be read and will not be found";
    const std::lock_guard lock(unreadable_mutex_);
    if (table == "traces") {
        const auto known = std::ranges::any_of(
            unreadable_, [&](const Unreadable& one) { return one.first <= first && last <= one.last; });
        if (known || unreadable_.size() == most_named)
            return;
        unreadable_.push_back({first, last, why.message});
    } else {
        // Of what traces stand in, one line: their rows come up one by one, search after search.
        const bool beside = table == "sessions" || table == "episodes";
        auto name = beside ? std::string(table) : base::cat(table, ' ', rows);
        if (std::ranges::find(named_elsewhere_, name) != named_elsewhere_.end() ||
            named_elsewhere_.size() == most_named)
            return;
        named_elsewhere_.push_back(std::move(name));
        if (beside)
            meaning =
                "cannot be read, nor perhaps others; what was said in it is found without it, but not by "
                "a search of one session, agent or namespace";
    }
    std::fprintf(
        stderr,
        "holdfast-memory: the store is damaged: table %s, %s %s (%s). What to do is said by: holdfast "
        "memory check\n",
        std::string(table).c_str(), rows.c_str(), meaning.c_str(), base::printable(why.message).c_str());
}

Result<bool> Recall::index_some(Analyzer& analyzer, std::size_t limit) {
    auto reader = store_.reader(Store::ForWhom::itself);
    if (!reader)
        return std::unexpected(std::move(reader.error()));
    const auto most = static_cast<std::int64_t>(limit);
    auto last = std::max(index_->next_row() - 1, passed_row_);
    std::int64_t misplaced = 0; // rows behind `last`
    std::string text;
    std::vector<std::uint64_t> terms;
    auto any = visit_indexed_texts(**reader, last + 1, most, [&](const IndexedTexts& trace) {
        failures_ = 0;
        const auto number = trace.place.row;
        if (!is_in_order(**reader, "traces", last, misplaced, number) ||
            is_beyond_all(**reader, last, number)) {
            ++misplaced;
            name_unreadable("traces", last + misplaced, last + misplaced, not_in_order());
            return;
        }
        misplaced = 0;
        last = number;
        text = base::cat(searched_text(trace.user_text, trace.agent_text), "\n",
                         searched_details(trace.reflection, trace.tags, trace.tool_calls));
        terms.clear();
        document_terms(analyzer, text, trace.place.ts, terms);
        index_->add(last, static_cast<std::uint32_t>(trace.place.session_row), trace.place.ts, terms);
    });
    if (any) {
        failures_ = 0;
        if (misplaced > 0)
            passed_row_ = last + misplaced;
        return any;
    }
    if (!pass_over(any.error()))
        return any;
    const auto bad = last_unreadable_texts(**reader, last, most);
    if (!bad)
        return std::unexpected(bad.error());
    passed_row_ = *bad;
    name_unreadable("traces", last + 1, passed_row_, any.error());
    return true;
}

void Recall::close() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        wake_.notify_all();
        caught_up_.notify_all();
    }
    if (indexer_.joinable()) {
        indexer_.join();
        (void)index_->maintain(
            64); // a short tail is read again at the next start, which costs less than a file
    }
}

} // namespace holdfast::memory
