// Embeddings, by a server or by the host, as one more channel of recall. Off unless the home is configured
// so. Traces are embedded in the background, oldest first; a question is embedded while it is asked, within
// its deadline. A server that fails is left alone for a while: recall goes on without it at full speed.
#pragma once

#include "memory/config/config.hpp"
#include "memory/embed/embedding_source.hpp"
#include "memory/embed/vector_file.hpp"
#include "memory/writer/store.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace holdfast::memory {

class Embedder {
public:
    // `path`: where the vectors are kept.
    static Result<std::unique_ptr<Embedder>> start(Store& store, const std::string& path,
                                                   const HomeConfig& config,
                                                   std::shared_ptr<EmbeddingSource> source);
    ~Embedder();
    Embedder(const Embedder&) = delete;
    Embedder& operator=(const Embedder&) = delete;

    // New rows may be there.
    void wake();
    // The row is gone, and so is what was made of it.
    void forget(std::int64_t row) { vectors_.forget(row); }
    // The rows most like the question, of those that `admit` lets in. Empty when the server does not answer
    // in time; `cut` when not all was looked at.
    std::vector<VectorHit> search(const std::string& question, std::size_t most, std::int64_t deadline_us,
                                  const VectorFile::AdmitRow& admit, bool& cut);
    [[nodiscard]] double weight() const noexcept { return config_.embeddings_weight; }

    struct Health {
        bool available = false;
        std::string_view provider;
        std::string model;
        std::int64_t last_ok_ms = 0;
        std::string last_error;
        std::size_t rows = 0;
    };
    [[nodiscard]] Health health() const;
    void close();

private:
    Embedder(Store& store, HomeConfig config, std::shared_ptr<EmbeddingSource> source, VectorFile vectors)
        : store_(store)
        , config_(std::move(config))
        , source_(std::move(source))
        , vectors_(std::move(vectors)) {}
    void loop();
    Result<bool> embed_some();
    // One text after another, for a batch that the server refused: a text that it does not take (too long, or
    // nothing in it) has no vector, and holds up none of the others.
    Result<Vectors> ask_each(const std::vector<std::string>& texts);
    Result<Vectors> ask(const std::vector<std::string>& texts, std::int64_t deadline_us);
    void note(const Result<void>& outcome);

    Store& store_;
    HomeConfig config_;
    std::shared_ptr<EmbeddingSource> source_;
    VectorFile vectors_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> stopping_ = false;
    bool work_ = true;
    std::int64_t rest_until_ms_ = 0; // after a failure
    std::atomic<int> missed_ = 0;    // questions in a hurry without an answer, one after another
    std::int64_t last_ok_ms_ = 0;
    std::string last_error_;
    bool remake_ = false; // the server's vectors have another dimension than those that are kept
    std::thread thread_;
};

} // namespace holdfast::memory
