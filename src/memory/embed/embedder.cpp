#include "memory/embed/embedder.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/damage.hpp"
#include "memory/repository/trace_scan.hpp"

#include <algorithm>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::int64_t rest_ms = 15'000;              // for a server that failed
constexpr std::int64_t batch_timeout_us = 60'000'000; // in the background there is time
constexpr std::int64_t fair_us = 100'000;             // enough for a server that is there
constexpr int most_missed = 3;                        // questions in a row that left less, and got no answer
constexpr int batch = 32;
constexpr std::size_t most_text = 8000; // bytes of a trace, or of a question

} // namespace

Result<std::unique_ptr<Embedder>> Embedder::start(Store& store, const std::string& path,
                                                  const HomeConfig& config,
                                                  std::shared_ptr<EmbeddingSource> source) {
    auto vectors = VectorFile::open(path, config.embeddings_model);
    if (!vectors)
        return std::unexpected(std::move(vectors.error()));
    std::unique_ptr<Embedder> embedder(new Embedder(store, config, std::move(source), std::move(*vectors)));
    embedder->thread_ = std::thread([raw = embedder.get()] { raw->loop(); });
    return embedder;
}

Embedder::~Embedder() {
    close();
}

void Embedder::close() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable())
        thread_.join();
}

void Embedder::wake() {
    const std::lock_guard lock(mutex_);
    work_ = true;
    changed_.notify_all();
}

void Embedder::note(const Result<void>& outcome) {
    const std::lock_guard lock(mutex_);
    if (outcome) {
        last_ok_ms_ = now_ms();
        last_error_.clear();
        return;
    }
    last_error_ = outcome.error().message;
    rest_until_ms_ = monotonic_ms() + rest_ms;
}

Result<Vectors> Embedder::ask(const std::vector<std::string>& texts, std::int64_t deadline_us) {
    return source_->embed(texts, config_.embeddings_model, deadline_us, stopping_);
}

// True when there may be more.
Result<bool> Embedder::embed_some() {
    std::vector<std::int64_t> rows;
    std::vector<std::string> texts;
    {
        auto reader = store_.reader();
        if (!reader)
            return std::unexpected(std::move(reader.error()));
        std::int64_t misplaced = 0; // rows behind the last one
        auto read =
            visit_said(**reader, vectors_.last_row(), batch,
                       [&](std::int64_t row, std::string_view user, std::string_view agent) {
                           // Of damaged pages: what is behind a lower number would be embedded again,
                           // for ever.
                           const auto last = rows.empty() ? vectors_.last_row() : rows.back();
                           if (!is_in_order(**reader, "traces", last, misplaced, row)) {
                               ++misplaced;
                               return;
                           }
                           misplaced = 0;
                           rows.push_back(row);
                           texts.emplace_back(base::cut_at_character(cat(user, "\n", agent), most_text));
                       });
        if (!read)
            return std::unexpected(std::move(read.error()));
    }
    if (rows.empty())
        return false;
    auto vectors = ask(texts, monotonic_us() + batch_timeout_us);
    if (!vectors && vectors.error().code == Errc::protocol)
        vectors = ask_each(texts);
    if (!vectors)
        return std::unexpected(std::move(vectors.error()));
    const auto known = vectors_.dimension();
    const auto given = std::ranges::find_if(*vectors, [](const auto& vector) { return !vector.empty(); });
    if (known != 0 && given != vectors->end() && given->size() != known) {
        if (auto cleared = vectors_.clear(); !cleared)
            return std::unexpected(std::move(cleared.error()));
        return fail(Errc::protocol, cat("the server's vectors have ", given->size(),
                                        " numbers where they had ", known, ": all are made again"));
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (auto added = vectors_.append(rows[i], (*vectors)[i]); !added)
            return std::unexpected(std::move(added.error()));
    return rows.size() == batch;
}

Result<Vectors> Embedder::ask_each(const std::vector<std::string>& texts) {
    auto plain = ask({"memory"}, monotonic_us() + batch_timeout_us);
    if (!plain)
        return plain; // it is the server, and no text
    Vectors vectors;
    for (const auto& text : texts) {
        auto one = ask({text}, monotonic_us() + batch_timeout_us);
        if (!one && one.error().code != Errc::protocol)
            return one;
        vectors.push_back(one ? std::move(one->front()) : std::vector<float>(plain->front().size()));
    }
    return vectors;
}

void Embedder::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        const auto rest = rest_until_ms_ - monotonic_ms();
        if (rest > 0)
            changed_.wait_for(lock, std::chrono::milliseconds(rest), [&] { return stopping_.load(); });
        else
            changed_.wait(lock, [&] { return stopping_ || work_; });
        if (stopping_)
            return;
        if (rest_until_ms_ > monotonic_ms() || !work_)
            continue;
        work_ = false;
        const bool remake = std::exchange(remake_, false);
        lock.unlock();
        if (remake)
            (void)vectors_.clear();
        auto more = embed_some();
        note(more ? Result<void>() : std::unexpected(more.error()));
        lock.lock();
        work_ |= !more || *more;
    }
}

std::vector<VectorHit> Embedder::search(const std::string& question, std::size_t most,
                                        std::int64_t deadline_us, const VectorFile::AdmitRow& admit,
                                        bool& cut) {
    const auto now = monotonic_us();
    auto until = now + config_.embeddings_timeout_ms * 1000;
    const bool hurried = deadline_us != 0 && now + (deadline_us - now) / 2 < until;
    if (hurried) // the words need the rest of the time
        until = now + (deadline_us - now) / 2;
    {
        const std::lock_guard lock(mutex_);
        if (rest_until_ms_ > monotonic_ms())
            return {};
    }
    if (vectors_.size() == 0 || until <= now)
        return {};
    auto vector = ask({std::string(base::cut_at_character(question, most_text))}, until);
    if (!vector && hurried && vector.error().code == Errc::timed_out && until - now < fair_us &&
        ++missed_ < most_missed)
        return {}; // it was given next to no time: that is no failure of the server, yet
    missed_ = 0;
    auto outcome = vector ? Result<void>() : std::unexpected(vector.error());
    if (const auto known = vectors_.dimension(); vector && known != 0 && vector->front().size() != known) {
        outcome = fail(Errc::protocol, cat("the server's vectors have ", vector->front().size(),
                                           " numbers where they had ", known, ": all are made again"));
        const std::lock_guard lock(mutex_);
        work_ = remake_ = true;
    }
    note(outcome);
    if (!outcome)
        return {};
    return vectors_.search(vector->front(), most, deadline_us == 0 ? 0 : now + (deadline_us - now) * 3 / 4,
                           admit, cut);
}

Embedder::Health Embedder::health() const {
    const std::lock_guard lock(mutex_);
    return {last_ok_ms_ != 0 && last_error_.empty(),
            source_->provider(),
            config_.embeddings_model,
            last_ok_ms_,
            last_error_,
            vectors_.size()};
}

} // namespace holdfast::memory
