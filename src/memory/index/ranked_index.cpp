// Keeping the parts: loading, adding, writing, merging. Searching is in ranked_search.cpp.
#include "memory/index/ranked_index.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/whole_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::size_t merge_width = 8;

struct FileName {
    std::string name;
    std::int64_t first = 0;
    std::int64_t last = 0;
};

// "1-4096.seg" -> 1, 4096
bool parse(const std::string& name, FileName& file) {
    if (!name.ends_with(".seg"))
        return false;
    const char* end = name.data() + name.size() - 4;
    const auto first = std::from_chars(name.data(), end, file.first);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '-')
        return false;
    const auto last = std::from_chars(first.ptr + 1, end, file.last);
    file.name = name;
    return last.ec == std::errc{} && last.ptr == end && file.last >= file.first;
}

// What lies under the folder's name and is none, or leads nowhere, is in the way of what can be made again.
Result<void> make_folder(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
        return {};
    ::unlink(path.c_str());
    if (::mkdir(path.c_str(), 0700) != 0)
        return sys::fail_sys(cat("create ", path));
    return {};
}

// Files of about the same size have the same level; eight of a level become one of the next.
int level_of(const SegmentFile& segment) {
    int level = 0;
    for (std::uint64_t size = segment.view().filled / 4096; size > 0; size /= merge_width)
        ++level;
    return level;
}

} // namespace

DocumentPlace document_place(std::int64_t row, std::int64_t session, std::int64_t ts_ms) noexcept {
    return {row, static_cast<std::uint32_t>(session),
            static_cast<std::uint32_t>(std::clamp<std::int64_t>(ts_ms / 1000, 0, 0xffff'ffffLL))};
}

Result<std::unique_ptr<RankedIndex>> RankedIndex::open(const std::string& directory,
                                                       const std::string& store) {
    std::unique_ptr<RankedIndex> index(new RankedIndex(directory));
    if (!directory.empty())
        if (auto loaded = index->load(store); !loaded)
            return std::unexpected(std::move(loaded.error()));
    index->growing_ =
        std::make_shared<GrowingPart>(index->segments_.empty() ? 1 : index->segments_.back()->last_row() + 1);
    return index;
}

Result<void> RankedIndex::load(const std::string& store) {
    if (auto made = make_folder(directory_); !made)
        return made;
    DIR* listing = ::opendir(directory_.c_str());
    if (listing == nullptr)
        return sys::fail_sys(cat("read ", directory_));
    std::vector<FileName> files;
    std::vector<std::string> remove;
    while (const auto* entry = ::readdir(listing)) {
        FileName file;
        const std::string name = entry->d_name;
        if (parse(name, file))
            files.push_back(file);
        else if (name.ends_with(".tmp"))
            remove.push_back(name); // a crash in the middle of writing one
    }
    ::closedir(listing);
    // The rows of another store have the same numbers and other words. The name is written when nothing of
    // the other is left; one that cannot be written costs the next start an index.
    const auto whose = cat(directory_, "/of");
    if (!store.empty() && sys::read_rewritten(whose, 256) != store) {
        for (const auto& file : files)
            remove.push_back(file.name);
        files.clear();
        remove.emplace_back("gone");
        for (const auto& name : remove)
            ::unlink(cat(directory_, "/", name).c_str());
        (void)sys::write_whole(whose, store);
    }
    // At the same first row the longer one wins: it is the merge of the others.
    std::ranges::sort(files, [](const FileName& a, const FileName& b) {
        return a.first != b.first ? a.first < b.first : a.last > b.last;
    });
    std::int64_t next = 1;
    for (const auto& file : files) {
        if (file.first == next) {
            auto segment = SegmentFile::open(cat(directory_, "/", file.name));
            if (segment && (*segment)->view().base == file.first && (*segment)->last_row() == file.last) {
                segments_.push_back(std::move(*segment));
                next = file.last + 1;
                continue;
            }
        }
        remove.push_back(file.name);
    }
    for (const auto& name : remove)
        ::unlink(cat(directory_, "/", name).c_str());
    load_gone();
    return {};
}

std::int64_t RankedIndex::next_row() const {
    const std::shared_lock lock(mutex_);
    return growing_->view().base + growing_->size();
}

void RankedIndex::add(std::int64_t row, std::uint32_t session, std::int64_t ts_ms,
                      std::vector<std::uint64_t>& terms) {
    const std::unique_lock lock(mutex_);
    growing_->add(row, session, document_place(row, session, ts_ms).time, terms);
}

void RankedIndex::remove(std::int64_t row) {
    const std::unique_lock lock(mutex_);
    const auto place = std::ranges::lower_bound(gone_, row);
    if (place != gone_.end() && *place == row)
        return;
    gone_.insert(place, row);
    if (directory_.empty())
        return;
    // Eight bytes appended. After a crash they may not be there: the next start finds one document too many,
    // and looks which (Recall::open).
    const sys::Fd fd(
        ::open(cat(directory_, "/gone").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    if (fd)
        (void)!::write(fd.get(), &row, sizeof row);
}

void RankedIndex::load_gone() {
    const sys::Fd fd(::open(cat(directory_, "/gone").c_str(), O_RDONLY | O_CLOEXEC));
    std::int64_t row = 0;
    while (fd && ::read(fd.get(), &row, sizeof row) == static_cast<ssize_t>(sizeof row))
        gone_.push_back(row);
    std::ranges::sort(gone_);
    const auto repeated = std::ranges::unique(gone_);
    gone_.erase(repeated.begin(), repeated.end());
    // Rows that no file has are read from the store again: if they are there, nothing is gone.
    const auto first_unknown = segments_.empty() ? 1 : segments_.back()->last_row() + 1;
    const auto unknown = std::ranges::lower_bound(gone_, first_unknown);
    if (unknown == gone_.end())
        return;
    gone_.erase(unknown, gone_.end());
    write_gone();
}

// Whole under another name first: a row that was there before is there after a crash.
void RankedIndex::write_gone() const {
    const auto path = cat(directory_, "/gone");
    if (gone_.empty()) {
        ::unlink(path.c_str());
        return;
    }
    const auto unfinished = path + ".tmp";
    const auto size = static_cast<ssize_t>(gone_.size() * sizeof gone_[0]);
    const sys::Fd fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (fd && ::write(fd.get(), gone_.data(), static_cast<std::size_t>(size)) == size)
        (void)::rename(unfinished.c_str(), path.c_str());
}

std::vector<std::int64_t> RankedIndex::gone_within(std::int64_t first, std::int64_t last) const {
    const std::shared_lock lock(mutex_);
    return {std::ranges::lower_bound(gone_, first), std::ranges::upper_bound(gone_, last)};
}

// With the lock held.
void RankedIndex::drop_gone(const std::vector<std::int64_t>& rows) {
    if (rows.empty())
        return;
    std::erase_if(gone_, [&](std::int64_t row) { return std::ranges::binary_search(rows, row); });
    write_gone();
}

std::optional<DocumentPlace> RankedIndex::place(std::int64_t row) const {
    const std::shared_lock lock(mutex_);
    if (std::ranges::binary_search(gone_, row))
        return std::nullopt;
    const auto within = [&](const IndexPart& part) -> std::optional<DocumentPlace> {
        const auto view = part.view();
        const auto document = static_cast<std::size_t>(row - view.base);
        if (view.lengths[document] == 0)
            return std::nullopt;
        return DocumentPlace{row, view.sessions[document], view.times[document]};
    };
    for (const auto* newest : {growing_.get(), frozen_.get()})
        if (newest != nullptr && row >= newest->view().base)
            return row < newest->view().base + newest->size() ? within(*newest) : std::nullopt;
    const auto behind = std::ranges::upper_bound(segments_, row, {},
                                                 [](const auto& segment) { return segment->view().base; });
    if (behind == segments_.begin() || (*std::prev(behind))->last_row() < row)
        return std::nullopt;
    return within(**std::prev(behind));
}

Result<bool> RankedIndex::purge_one() {
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        const auto rows = gone_within(segments_[i]->view().base, segments_[i]->last_row());
        if (rows.empty())
            continue;
        auto path = merge_segments(directory_, {segments_[i].get()}, rows);
        auto segment = path ? SegmentFile::open(*path) : std::unexpected(path.error());
        if (!segment)
            return std::unexpected(std::move(segment.error()));
        const std::unique_lock lock(mutex_);
        segments_[i] = std::move(*segment); // searches that still use the old one keep their mapping
        drop_gone(rows);
        return true;
    }
    return false;
}

std::vector<std::shared_ptr<const IndexPart>> RankedIndex::parts() const {
    std::vector<std::shared_ptr<const IndexPart>> all(segments_.begin(), segments_.end());
    if (frozen_)
        all.push_back(frozen_);
    all.push_back(growing_);
    return all;
}

Result<void> RankedIndex::maintain(std::uint32_t least) {
    if (directory_.empty())
        return {};
    if (growing_->filled() >= std::max(least, 1U)) {
        {
            const std::unique_lock lock(mutex_);
            frozen_ = std::move(growing_);
            growing_ = std::make_shared<GrowingPart>(frozen_->view().base + frozen_->size());
        }
        // The frozen part does not change any more: it is written without a lock.
        const auto without = gone_within(frozen_->view().base, frozen_->view().base + frozen_->size() - 1);
        auto path = write_segment(directory_, *frozen_, without);
        auto segment = path ? SegmentFile::open(*path) : std::unexpected(path.error());
        const std::unique_lock lock(mutex_);
        if (!segment) {
            // The rows must stay findable: keep them in memory as they are, and try again when more have
            // come.
            if (growing_->filled() == 0)
                growing_ = std::move(frozen_);
            return std::unexpected(std::move(segment.error()));
        }
        segments_.push_back(std::move(*segment));
        frozen_.reset();
        drop_gone(without);
    }
    for (bool merged = true; merged;)
        if (auto done = merge_once(merged); !done)
            return done;
    return {};
}

Result<void> RankedIndex::merge_once(bool& merged) {
    merged = false;
    // The newest run of files of one level that is long enough.
    std::size_t end = segments_.size();
    while (end > 0) {
        std::size_t begin = end;
        const int level = level_of(*segments_[end - 1]);
        while (begin > 0 && level_of(*segments_[begin - 1]) <= level)
            --begin;
        if (end - begin >= merge_width) {
            std::vector<const SegmentFile*> inputs;
            for (std::size_t i = begin; i < end; ++i)
                inputs.push_back(segments_[i].get());
            // A damaged file would become part of one whose checksum is right.
            if (!std::ranges::all_of(inputs, &SegmentFile::sound))
                return fail(Errc::io, cat("a file in ", directory_, " is damaged"), EUCLEAN);
            const auto without = gone_within(inputs.front()->view().base, inputs.back()->last_row());
            auto path = merge_segments(directory_, inputs, without);
            if (!path)
                return std::unexpected(std::move(path.error()));
            auto segment = SegmentFile::open(*path);
            if (!segment)
                return std::unexpected(std::move(segment.error()));
            std::vector<std::string> old;
            const std::unique_lock lock(mutex_);
            for (std::size_t i = begin; i < end; ++i)
                old.push_back(segments_[i]->path());
            segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(begin),
                            segments_.begin() + static_cast<std::ptrdiff_t>(end));
            segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(begin), std::move(*segment));
            for (const auto& name : old)
                ::unlink(name.c_str()); // searches that still use one keep their mapping
            drop_gone(without);
            merged = true;
            return {};
        }
        end = begin;
    }
    return {};
}

std::uint64_t RankedIndex::documents() const {
    const std::shared_lock lock(mutex_);
    std::uint64_t count = 0;
    for (const auto& part : parts())
        count += part->view().filled;
    return count;
}

std::uint64_t RankedIndex::left() const {
    const std::shared_lock lock(mutex_);
    std::uint64_t count = 0;
    for (const auto& part : parts()) {
        const auto view = part->view();
        count += view.filled;
        for (auto row = std::ranges::lower_bound(gone_, view.base);
             row != gone_.end() && *row < view.base + view.size; ++row)
            count -= view.lengths[*row - view.base] != 0 ? 1U : 0U;
    }
    return count;
}

RankedIndex::Inventory RankedIndex::inventory() const {
    const std::shared_lock lock(mutex_);
    Inventory all;
    all.next_row = growing_->view().base + growing_->size();
    for (const auto& part : parts()) {
        const auto view = part->view();
        for (std::uint32_t i = 0; i < view.size; ++i)
            if (view.lengths[i] != 0 && !std::ranges::binary_search(gone_, view.base + i))
                all.documents.push_back({view.base + i, view.sessions[i], view.times[i]});
    }
    return all;
}

std::size_t RankedIndex::files() const {
    const std::shared_lock lock(mutex_);
    return segments_.size();
}

bool RankedIndex::sound() const {
    std::vector<std::shared_ptr<SegmentFile>> segments;
    {
        const std::shared_lock lock(mutex_);
        segments = segments_;
    }
    return std::ranges::all_of(segments, [](const auto& segment) { return segment->sound(); });
}

void RankedIndex::clear() {
    const std::unique_lock lock(mutex_);
    for (const auto& segment : segments_)
        ::unlink(segment->path().c_str());
    segments_.clear();
    gone_.clear();
    if (!directory_.empty())
        ::unlink(cat(directory_, "/gone").c_str());
    frozen_.reset();
    growing_ = std::make_shared<GrowingPart>(1);
}

} // namespace holdfast::memory
