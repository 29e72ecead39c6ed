// A part of the ranked index: the terms of a run of traces, either in memory (the newest ones) or in a file
// that is mapped and never changed. Both answer the same questions.
#pragma once

#include "holdfast/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::memory {

// Documents in rising order, each as a varint of (distance to the one before << 2 | times it occurs, 1 to 4,
// less 1).
struct PostingList {
    const std::uint8_t* data = nullptr;
    const std::uint8_t* end = nullptr;
    std::uint32_t documents = 0;
};

// Calls visit(document, occurrences) for each entry. Stops at the end of the bytes whatever they are.
template <class Visit>
void for_each_posting(const PostingList& list, Visit visit) {
    const std::uint8_t* at = list.data;
    std::uint32_t document = 0;
    while (at < list.end) {
        std::uint32_t value = *at++;
        if (value >= 0x80) {
            value &= 0x7f;
            for (unsigned shift = 7; at < list.end; shift += 7) {
                const std::uint32_t byte = *at++;
                if (shift < 32)
                    value |= (byte & 0x7f) << shift;
                if (byte < 0x80)
                    break;
            }
        }
        document += value >> 2;
        visit(document, (value & 3) + 1);
    }
}

// What is known of each document without its terms. Numbers count from `base`.
struct PartView {
    std::int64_t base = 0;
    std::uint32_t size = 0;                  // documents, gaps included
    std::uint32_t filled = 0;                // documents that exist
    std::uint64_t length = 0;                // of all of them, in terms
    const std::uint8_t* lengths = nullptr;   // a code, see length_code(); 0: no document here
    const std::uint32_t* sessions = nullptr; // row of the session
    const std::uint32_t* times = nullptr;    // seconds since the epoch
};

std::uint8_t length_code(std::uint32_t terms) noexcept;
float length_of_code(std::uint8_t code) noexcept;

class IndexPart {
public:
    IndexPart() = default;
    IndexPart(const IndexPart&) = delete;
    IndexPart& operator=(const IndexPart&) = delete;
    virtual ~IndexPart() = default;
    [[nodiscard]] virtual PartView view() const = 0;
    [[nodiscard]] virtual PostingList find(std::uint64_t term) const = 0;
};

// The newest documents. One thread adds; whoever reads at the same time holds the same lock (RankedIndex
// does).
class GrowingPart final : public IndexPart {
public:
    explicit GrowingPart(std::int64_t base)
        : base_(base) {}
    // `row` must be larger than all before it. `terms` may hold a term several times.
    void add(std::int64_t row, std::uint32_t session, std::uint32_t time, std::vector<std::uint64_t>& terms);
    [[nodiscard]] PartView view() const override;
    [[nodiscard]] PostingList find(std::uint64_t term) const override;
    [[nodiscard]] std::uint32_t filled() const noexcept { return filled_; }
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(lengths_.size()); }

    struct Growing {
        std::uint32_t documents = 0;
        std::uint32_t last = 0;
        std::vector<std::uint8_t> bytes;
    };
    [[nodiscard]] const std::unordered_map<std::uint64_t, Growing>& lists() const noexcept { return lists_; }

private:
    std::int64_t base_;
    std::uint32_t filled_ = 0;
    std::uint64_t length_ = 0;
    std::vector<std::uint8_t> lengths_;
    std::vector<std::uint32_t> sessions_;
    std::vector<std::uint32_t> times_;
    std::unordered_map<std::uint64_t, Growing> lists_;
};

struct DictionaryEntry {
    std::uint64_t term;
    std::uint64_t offset; // of its list, from the start of the lists
    std::uint32_t documents;
    std::uint32_t bytes;
};

// A file `<base>-<last>.seg`. Written under a temporary name, synced, renamed: a file of that name is whole.
class SegmentFile final : public IndexPart {
public:
    static Result<std::unique_ptr<SegmentFile>> open(const std::string& path);
    ~SegmentFile() override;
    [[nodiscard]] PartView view() const override { return view_; }
    [[nodiscard]] PostingList find(std::uint64_t term) const override;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] std::int64_t last_row() const noexcept { return view_.base + view_.size - 1; }
    [[nodiscard]] const DictionaryEntry* dictionary() const noexcept { return dictionary_; }
    [[nodiscard]] std::uint64_t terms() const noexcept { return terms_; }
    [[nodiscard]] PostingList list(const DictionaryEntry& entry) const;
    // Reads every list and compares the checksum of the whole file.
    [[nodiscard]] bool sound() const;

private:
    SegmentFile() = default;
    std::string path_;
    const std::uint8_t* bytes_ = nullptr;
    std::uint64_t size_ = 0;
    PartView view_;
    const DictionaryEntry* dictionary_ = nullptr;
    std::uint64_t terms_ = 0;
    const std::uint8_t* lists_ = nullptr;
    std::uint64_t lists_size_ = 0;
};

// Both return the path of the new file, which has nothing of the rows `without` (sorted). Neighbouring
// segments in, one segment out.
Result<std::string> write_segment(const std::string& directory, const GrowingPart& part,
                                  const std::vector<std::int64_t>& without = {});
Result<std::string> merge_segments(const std::string& directory,
                                   const std::vector<const SegmentFile*>& segments,
                                   const std::vector<std::int64_t>& without = {});

void append_posting(std::vector<std::uint8_t>& bytes, std::uint32_t distance, std::uint32_t occurrences);

} // namespace holdfast::memory
