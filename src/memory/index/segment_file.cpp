// Segments on disk. Layout, all little-endian: header, dictionary (by term), sessions, times, lengths, lists.
#include "memory/index/index_part.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/whole_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>

namespace holdfast::memory {

using base::cat;

namespace {

// "hafseg" and the number of the format, which counts the terms' meaning as well as the layout: 02, words
// carry their language, and signs that can be words stand alone; 03, names before an apostrophe, full-width
// letters and ligatures are words, and dates are seen beside typographic signs; 04, letters in pieces are
// whole, ß is ss, and all 64 KiB of a text count. A file of another number is removed, and its rows are
// indexed again from the store.
constexpr std::uint64_t magic = 0x3430'6765'7366'6168ULL;

struct Header {
    std::uint64_t magic;
    std::int64_t base;
    std::uint32_t size;
    std::uint32_t filled;
    std::uint64_t length;
    std::uint64_t terms;
    std::uint64_t lists_size;
    std::uint64_t body_checksum;   // of everything behind the header; read by sound() only
    std::uint64_t header_checksum; // of the fields before it; read at every open
};

class Checksum {
public:
    void add(const void* data, std::size_t size) noexcept {
        const auto* at = static_cast<const std::uint8_t*>(data);
        for (; size >= 8; size -= 8, at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, at, 8);
            mix(word);
        }
        std::uint64_t rest = size;
        for (std::size_t i = 0; i < size; ++i)
            rest = rest << 8 | at[i];
        mix(rest);
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

private:
    void mix(std::uint64_t word) noexcept {
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15ULL;
        state_ ^= state_ >> 29;
    }
    std::uint64_t state_ = 0x243f6a8885a308d3ULL;
};

std::uint64_t header_checksum(const Header& header) {
    Checksum sum;
    sum.add(&header, offsetof(Header, header_checksum));
    return sum.value();
}

// The file in three sections, each added as a whole, so that its checksum is the same however it was
// produced.
struct Content {
    Header header{};
    std::vector<DictionaryEntry> dictionary;
    std::vector<std::uint32_t> sessions;
    std::vector<std::uint32_t> times;
    std::vector<std::uint8_t> lengths;
};

std::uint64_t checksum_of(const Content& content, std::uint64_t lists_checksum) {
    Checksum sum;
    sum.add(content.dictionary.data(), content.dictionary.size() * sizeof(DictionaryEntry));
    sum.add(content.sessions.data(), content.sessions.size() * 4);
    sum.add(content.times.data(), content.times.size() * 4);
    sum.add(content.lengths.data(), content.lengths.size());
    sum.add(&lists_checksum, sizeof lists_checksum);
    return sum.value();
}

Result<void> write_part(int fd, const void* data, std::size_t size, const std::string& path) {
    if (const int error = sys::write_all(fd, {static_cast<const char*>(data), size}))
        return sys::fail_sys(cat("write ", path), error);
    return {};
}

// Removed at the end, unless it became what it was made for: what is left on a full disk makes it fuller.
class Unfinished {
public:
    explicit Unfinished(std::string path)
        : path_(std::move(path)) {}
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    ~Unfinished() {
        if (!path_.empty())
            ::unlink(path_.c_str());
    }
    void finished() noexcept { path_.clear(); }

private:
    std::string path_;
};

// `next_list(entry index, buffer)` fills the buffer with one list; called once per dictionary entry, in
// order.
template <class NextList>
Result<std::string> write_file(const std::string& directory, Content& content, NextList next_list) {
    const auto last = content.header.base + content.header.size - 1;
    std::string path = cat(directory, "/", content.header.base, "-", last, ".seg");
    const std::string unfinished = cat(directory, "/", content.header.base, "-", last, ".tmp");
    sys::Fd fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd)
        return sys::fail_sys(cat("create ", unfinished));
    Unfinished leftover(unfinished);
    const auto lists_at = sizeof(Header) + content.dictionary.size() * sizeof(DictionaryEntry) +
                          content.sessions.size() * 8 + content.lengths.size();
    if (::lseek(fd.get(), static_cast<off_t>(lists_at), SEEK_SET) < 0)
        return sys::fail_sys(cat("seek ", unfinished));
    Checksum lists;
    std::vector<std::uint8_t> list;
    std::vector<std::uint8_t> pending;
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < content.dictionary.size(); ++i) {
        list.clear();
        next_list(i, list);
        lists.add(list.data(), list.size());
        content.dictionary[i].offset = offset;
        content.dictionary[i].bytes = static_cast<std::uint32_t>(list.size());
        offset += list.size();
        pending.insert(pending.end(), list.begin(), list.end());
        if (pending.size() > (1U << 18)) {
            if (auto done = write_part(fd.get(), pending.data(), pending.size(), unfinished); !done)
                return std::unexpected(std::move(done.error()));
            pending.clear();
        }
    }
    if (auto done = write_part(fd.get(), pending.data(), pending.size(), unfinished); !done)
        return std::unexpected(std::move(done.error()));
    content.header.magic = magic;
    content.header.terms = content.dictionary.size();
    content.header.lists_size = offset;
    content.header.body_checksum = checksum_of(content, lists.value());
    content.header.header_checksum = header_checksum(content.header);
    if (::lseek(fd.get(), 0, SEEK_SET) < 0)
        return sys::fail_sys(cat("seek ", unfinished));
    const std::pair<const void*, std::size_t> sections[] = {
        {&content.header, sizeof(Header)},
        {content.dictionary.data(), content.dictionary.size() * sizeof(DictionaryEntry)},
        {content.sessions.data(), content.sessions.size() * 4},
        {content.times.data(), content.times.size() * 4},
        {content.lengths.data(), content.lengths.size()}};
    for (const auto& [data, size] : sections)
        if (auto done = write_part(fd.get(), data, size, unfinished); !done)
            return std::unexpected(std::move(done.error()));
    if (::fdatasync(fd.get()) != 0)
        return sys::fail_sys(cat("sync ", unfinished));
    if (std::rename(unfinished.c_str(), path.c_str()) != 0)
        return sys::fail_sys(cat("rename ", unfinished));
    leftover.finished();
    return path;
}

} // namespace

Result<std::unique_ptr<SegmentFile>> SegmentFile::open(const std::string& path) {
    const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return sys::fail_sys(cat("open ", path));
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0)
        return sys::fail_sys(cat("stat ", path));
    std::unique_ptr<SegmentFile> segment(new SegmentFile());
    segment->path_ = path;
    segment->size_ = static_cast<std::uint64_t>(info.st_size);
    if (segment->size_ < sizeof(Header))
        return fail(Errc::protocol, cat(path, " is not an index segment"));
    void* mapped = ::mmap(nullptr, segment->size_, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (mapped == MAP_FAILED)
        return sys::fail_sys(cat("map ", path));
    segment->bytes_ = static_cast<const std::uint8_t*>(mapped);
    Header header;
    std::memcpy(&header, segment->bytes_, sizeof header);
    const auto expected = sizeof(Header) + header.terms * sizeof(DictionaryEntry) +
                          std::uint64_t{header.size} * 9 + header.lists_size;
    if (header.magic != magic || header.header_checksum != header_checksum(header) ||
        expected != segment->size_)
        return fail(Errc::protocol, cat(path, " is not a whole index segment"));
    const auto* at = segment->bytes_ + sizeof(Header);
    segment->dictionary_ = reinterpret_cast<const DictionaryEntry*>(at);
    segment->terms_ = header.terms;
    at += header.terms * sizeof(DictionaryEntry);
    segment->view_ = {header.base, header.size, header.filled, header.length, nullptr, nullptr, nullptr};
    segment->view_.sessions = reinterpret_cast<const std::uint32_t*>(at);
    segment->view_.times = segment->view_.sessions + header.size;
    segment->view_.lengths = at + std::uint64_t{header.size} * 8;
    segment->lists_ = segment->view_.lengths + header.size;
    segment->lists_size_ = header.lists_size;
    return segment;
}

SegmentFile::~SegmentFile() {
    if (bytes_ != nullptr)
        ::munmap(const_cast<std::uint8_t*>(bytes_), size_);
}

PostingList SegmentFile::list(const DictionaryEntry& entry) const {
    if (entry.offset > lists_size_ || entry.bytes > lists_size_ - entry.offset)
        return {}; // a damaged dictionary must not make us read elsewhere
    return {lists_ + entry.offset, lists_ + entry.offset + entry.bytes, entry.documents};
}

PostingList SegmentFile::find(std::uint64_t term) const {
    const auto* end = dictionary_ + terms_;
    const auto* found = std::lower_bound(
        dictionary_, end, term, [](const DictionaryEntry& entry, std::uint64_t t) { return entry.term < t; });
    return found != end && found->term == term ? list(*found) : PostingList{};
}

bool SegmentFile::sound() const {
    Header header;
    std::memcpy(&header, bytes_, sizeof header);
    Checksum lists;
    for (std::uint64_t i = 0; i < terms_; ++i) {
        const auto found = list(dictionary_[i]);
        lists.add(found.data, static_cast<std::size_t>(found.end - found.data));
    }
    Checksum sum;
    sum.add(dictionary_, terms_ * sizeof(DictionaryEntry));
    sum.add(view_.sessions, std::size_t{view_.size} * 4);
    sum.add(view_.times, std::size_t{view_.size} * 4);
    sum.add(view_.lengths, view_.size);
    const auto lists_value = lists.value();
    sum.add(&lists_value, sizeof lists_value);
    return sum.value() == header.body_checksum;
}

namespace {

// Takes the rows out of what is known of each document, and tells of any document whether it is out.
class Without {
public:
    Without(Content& content, const std::vector<std::int64_t>& rows)
        : base_(content.header.base)
        , rows_(rows) {
        for (const auto row : rows) {
            const auto document = static_cast<std::size_t>(row - base_);
            if (content.lengths[document] == 0)
                continue;
            content.header.length -= std::min<std::uint64_t>(
                content.header.length, static_cast<std::uint64_t>(length_of_code(content.lengths[document])));
            --content.header.filled;
            content.lengths[document] = 0;
            content.sessions[document] = 0;
            content.times[document] = 0;
        }
    }
    [[nodiscard]] bool any() const { return !rows_.empty(); }
    bool operator()(std::uint32_t document) const {
        return !rows_.empty() && std::ranges::binary_search(rows_, base_ + document);
    }

private:
    std::int64_t base_;
    const std::vector<std::int64_t>& rows_;
};

// A term that only documents had which are out is no entry any more: its number would tell that it was there.
void drop_emptied(Content& content, const Without& out,
                  const std::function<std::uint32_t(std::uint64_t term)>& documents_left) {
    if (!out.any())
        return;
    for (auto& entry : content.dictionary)
        entry.documents = documents_left(entry.term);
    std::erase_if(content.dictionary, [](const DictionaryEntry& entry) { return entry.documents == 0; });
}

} // namespace

Result<std::string> write_segment(const std::string& directory, const GrowingPart& part,
                                  const std::vector<std::int64_t>& without) {
    Content content;
    const auto view = part.view();
    content.header.base = view.base;
    content.header.size = view.size;
    content.header.filled = view.filled;
    content.header.length = view.length;
    content.sessions.assign(view.sessions, view.sessions + view.size);
    content.times.assign(view.times, view.times + view.size);
    content.lengths.assign(view.lengths, view.lengths + view.size);
    const Without out(content, without);
    content.dictionary.reserve(part.lists().size());
    for (const auto& [term, list] : part.lists())
        content.dictionary.push_back({term, 0, list.documents, 0});
    std::ranges::sort(content.dictionary, {}, &DictionaryEntry::term);
    const auto kept = [&](std::uint64_t term, auto visit) {
        for_each_posting(part.find(term), [&](std::uint32_t document, std::uint32_t times) {
            if (!out(document))
                visit(document, times);
        });
    };
    drop_emptied(content, out, [&](std::uint64_t term) {
        std::uint32_t left = 0;
        kept(term, [&](std::uint32_t, std::uint32_t) { ++left; });
        return left;
    });
    return write_file(directory, content, [&](std::size_t i, std::vector<std::uint8_t>& bytes) {
        if (!out.any()) {
            bytes = part.lists().at(content.dictionary[i].term).bytes;
            return;
        }
        std::uint32_t last = 0;
        kept(content.dictionary[i].term, [&](std::uint32_t document, std::uint32_t times) {
            append_posting(bytes, document - last, times);
            last = document;
        });
    });
}

Result<std::string> merge_segments(const std::string& directory,
                                   const std::vector<const SegmentFile*>& segments,
                                   const std::vector<std::int64_t>& without) {
    Content content;
    const auto first = segments.front()->view();
    content.header.base = first.base;
    content.header.size = static_cast<std::uint32_t>(segments.back()->last_row() - first.base + 1);
    content.sessions.resize(content.header.size);
    content.times.resize(content.header.size);
    content.lengths.resize(content.header.size);
    for (const auto* segment : segments) {
        const auto view = segment->view();
        const auto shift = static_cast<std::size_t>(view.base - first.base);
        std::copy_n(view.sessions, view.size, content.sessions.data() + shift);
        std::copy_n(view.times, view.size, content.times.data() + shift);
        std::copy_n(view.lengths, view.size, content.lengths.data() + shift);
        content.header.filled += view.filled;
        content.header.length += view.length;
    }
    const Without out(content, without);
    // All terms in order, each with the segments that have it: a merge of sorted dictionaries.
    std::vector<std::uint64_t> at(segments.size(), 0);
    for (;;) {
        bool any = false;
        std::uint64_t term = 0;
        for (std::size_t s = 0; s < segments.size(); ++s)
            if (at[s] < segments[s]->terms() && (!any || segments[s]->dictionary()[at[s]].term < term)) {
                term = segments[s]->dictionary()[at[s]].term;
                any = true;
            }
        if (!any)
            break;
        std::uint32_t documents = 0;
        for (std::size_t s = 0; s < segments.size(); ++s)
            if (at[s] < segments[s]->terms() && segments[s]->dictionary()[at[s]].term == term)
                documents += segments[s]->dictionary()[at[s]++].documents;
        content.dictionary.push_back({term, 0, documents, 0});
    }
    const auto kept = [&](std::uint64_t term, auto visit) {
        for (const auto* segment : segments) {
            const auto shift = static_cast<std::uint32_t>(segment->view().base - first.base);
            for_each_posting(segment->find(term), [&](std::uint32_t document, std::uint32_t times) {
                if (!out(document + shift))
                    visit(document + shift, times);
            });
        }
    };
    drop_emptied(content, out, [&](std::uint64_t term) {
        std::uint32_t left = 0;
        kept(term, [&](std::uint32_t, std::uint32_t) { ++left; });
        return left;
    });
    return write_file(directory, content, [&](std::size_t i, std::vector<std::uint8_t>& bytes) {
        std::uint32_t last = 0;
        kept(content.dictionary[i].term, [&](std::uint32_t document, std::uint32_t times) {
            append_posting(bytes, document - last, times);
            last = document;
        });
    });
}

} // namespace holdfast::memory
