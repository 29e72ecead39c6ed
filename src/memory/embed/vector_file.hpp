// Vectors of traces in a file: row after row, searched whole. Derived from the store: deleted, it is made
// again. One writer; searches from any thread.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace holdfast::memory {

struct VectorHit {
    std::int64_t row = 0;
    float likeness = 0; // cosine
};

class VectorFile {
public:
    // `model` is kept with it: vectors of another model are thrown away. A torn end is cut off.
    static Result<VectorFile> open(const std::string& path, const std::string& model);
    VectorFile(VectorFile&& other) noexcept;
    VectorFile& operator=(VectorFile&&) = delete;
    VectorFile(const VectorFile&) = delete;
    VectorFile& operator=(const VectorFile&) = delete;
    ~VectorFile();

    // The last row that is in it; 0: none. Rows come in growing order.
    [[nodiscard]] std::int64_t last_row() const;
    [[nodiscard]] std::size_t size() const;
    // Makes it unit length and appends it. invalid_argument: another dimension than the ones before.
    Result<void> append(std::int64_t row, std::span<const float> vector);
    // The `most` that are most like it, best first, of all there are. Stops at the deadline (monotonic; 0:
    // none) and says so through `cut`.
    std::vector<VectorHit> search(std::span<const float> query, std::size_t most, std::int64_t deadline_us,
                                  bool& cut) const;

private:
    VectorFile(sys::Fd file, std::string path)
        : file_(std::move(file))
        , path_(std::move(path)) {}
    void remap() const;
    [[nodiscard]] std::size_t record_bytes() const { return 8 + std::size_t{dimension_} * 4; }

    sys::Fd file_;
    std::string path_;
    mutable std::mutex mutex_;
    std::uint32_t dimension_ = 0; // 0: not known yet
    std::size_t records_ = 0;
    std::int64_t last_row_ = 0;
    mutable const char* mapped_ = nullptr;
    mutable std::size_t mapped_bytes_ = 0;
};

} // namespace holdfast::memory
