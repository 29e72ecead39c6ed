// Vectors of traces in a file: row after row, searched whole. Derived from the store: deleted, it is made
// again. One writer; searches from any thread.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
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
    ~VectorFile() = default;

    // The last row that is in it; 0: none. Rows come in growing order.
    [[nodiscard]] std::int64_t last_row() const;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::uint32_t dimension() const; // 0: not known yet
    // Makes it unit length and appends it. invalid_argument: another dimension than the ones before, or a
    // number that is none. An empty vector stands for a row that has none: it is like nothing.
    Result<void> append(std::int64_t row, std::span<const float> vector);
    // The row's vector is wiped, also one that is only about to be appended.
    void forget(std::int64_t row);
    // Throws all of them away: the next one may have another dimension.
    Result<void> clear();
    // The `most` that are most like it, best first, of all that `admit` lets in (empty: all). Stops at the
    // deadline (monotonic; 0: none) and says so through `cut`. No lock is held meanwhile.
    using AdmitRow = std::function<bool(std::int64_t row)>;
    std::vector<VectorHit> search(std::span<const float> query, std::size_t most, std::int64_t deadline_us,
                                  const AdmitRow& admit, bool& cut) const;

private:
    VectorFile(sys::Fd file, std::string path)
        : file_(std::move(file))
        , path_(std::move(path)) {}
    struct Mapping;
    [[nodiscard]] std::shared_ptr<const Mapping> mapping() const; // with mutex_ held
    [[nodiscard]] std::size_t record_bytes() const { return 8 + std::size_t{dimension_} * 4; }
    [[nodiscard]] std::int64_t row_at(std::size_t record) const;

    sys::Fd file_;
    std::string path_;
    mutable std::mutex mutex_;
    std::uint32_t dimension_ = 0; // 0: not known yet
    std::size_t records_ = 0;
    std::int64_t last_row_ = 0;
    std::set<std::int64_t> forgotten_; // rows behind the last one
    mutable std::shared_ptr<const Mapping> mapped_;
};

} // namespace holdfast::memory
