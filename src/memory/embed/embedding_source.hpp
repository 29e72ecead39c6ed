// Where vectors come from: a server, or the host that uses the memory.
#pragma once

#include "holdfast/result.hpp"

#include "json/json.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

using Vectors = std::vector<std::vector<float>>;

class EmbeddingSource {
public:
    EmbeddingSource() = default;
    EmbeddingSource(const EmbeddingSource&) = delete;
    EmbeddingSource& operator=(const EmbeddingSource&) = delete;
    virtual ~EmbeddingSource() = default;

    // One vector per text, in their order, all of one length. `model`: which, empty: the source's own.
    // Returns by `deadline_us` (monotonic), and within a tenth of a second once `give_up` is true. From any
    // thread.
    virtual Result<Vectors> embed(const std::vector<std::string>& texts, const std::string& model,
                                  std::int64_t deadline_us, const std::atomic<bool>& give_up) = 0;
    [[nodiscard]] virtual std::string_view provider() const noexcept = 0; // for health
};

// The numbers of one vector. Empty: it has none, or something that is no number to reckon with.
std::vector<float> vector_of(const json::array& numbers);
// Whether each has numbers, and all as many.
bool alike(const Vectors& vectors) noexcept;

} // namespace holdfast::memory
