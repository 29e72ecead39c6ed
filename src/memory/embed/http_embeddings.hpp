// Vectors by an OpenAI-compatible server.
#pragma once

#include "memory/embed/embedding_source.hpp"
#include "memory/embed/http_post.hpp"

namespace holdfast::memory {

class HttpEmbeddings final : public EmbeddingSource {
public:
    // `key`: sent as a bearer token; empty: none.
    HttpEmbeddings(HttpTarget target, std::string key)
        : target_(std::move(target))
        , key_(std::move(key)) {}
    // Errors as of http_post.
    Result<Vectors> embed(const std::vector<std::string>& texts, const std::string& model,
                          std::int64_t deadline_us, const std::atomic<bool>& give_up) override;
    [[nodiscard]] std::string_view provider() const noexcept override { return "http"; }

private:
    HttpTarget target_;
    std::string key_;
};

} // namespace holdfast::memory
