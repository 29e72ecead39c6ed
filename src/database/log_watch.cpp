#include "database/log_watch.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace holdfast::database {

namespace {

// https://www.sqlite.org/walformat.html: the header of the wal-index, the fields behind its two copies, and
// the log file.
constexpr std::size_t at_page_size = 14;
constexpr std::size_t at_frames = 16;
constexpr std::size_t at_salts = 32;
constexpr std::size_t second_copy = 48;
constexpr std::size_t at_backfill = 96;
constexpr std::size_t at_backfill_attempted = 128;
constexpr int index_region_bytes = 32768;
constexpr std::uint64_t log_header_bytes = 32;
constexpr std::uint64_t frame_header_bytes = 24;
constexpr off_t log_salts_at = 16;

template <class Number>
Number read_at(const volatile unsigned char* from) noexcept {
    return *reinterpret_cast<const volatile Number*>(from);
}

std::uint64_t bytes_of(std::uint64_t frames, std::uint64_t page) noexcept {
    return frames == 0 ? 0 : log_header_bytes + frames * (frame_header_bytes + page);
}

} // namespace

Result<void> LogWatch::attach(Database& database, sys::Fd log, std::string path) {
    sqlite3_file* file = nullptr;
    volatile void* region = nullptr;
    struct stat info{};
    if (!log || ::fstat(log.get(), &info) != 0)
        return sys::fail_sys(base::cat("open ", path));
    if (::sqlite3_file_control(database.raw(), "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, index_region_bytes, 0, &region) != SQLITE_OK || region == nullptr)
        return fail(Errc::io, base::cat("the index of ", path, " cannot be read"), 0);
    log_ = std::move(log);
    path_ = std::move(path);
    device_ = info.st_dev;
    inode_ = info.st_ino;
    index_ = static_cast<const volatile unsigned char*>(region);
    return {};
}

LogWatch::Index LogWatch::read_copy(std::size_t at) const noexcept {
    const auto* copy = index_ + at;
    Index index;
    index.frames = read_at<std::uint32_t>(copy + at_frames);
    index.page = read_at<std::uint16_t>(copy + at_page_size);
    if (index.page == 1)
        index.page = 65536;
    index.salts = std::uint64_t{read_at<std::uint32_t>(copy + at_salts)} << 32U |
                  read_at<std::uint32_t>(copy + at_salts + 4);
    return index;
}

std::optional<LogWatch::Index> LogWatch::read_index() const noexcept {
    // Whoever writes it writes both copies, the second one first: equal ones are whole.
    const auto first = read_copy(0);
    std::atomic_thread_fence(std::memory_order_acquire);
    return first == read_copy(second_copy) ? std::optional(first) : std::nullopt;
}

bool LogWatch::begins_with(std::uint64_t salts) const noexcept {
    std::array<std::uint32_t, 2> there{};
    return ::pread(log_.get(), there.data(), sizeof there, log_salts_at) ==
               static_cast<ssize_t>(sizeof there) &&
           (std::uint64_t{there[0]} << 32U | there[1]) == salts;
}

LogState LogWatch::look(Part part) const noexcept {
    constexpr int most_looks = 100;
    if (index_ == nullptr)
        return LogState::sound;
    auto before = read_index();
    for (int i = 0; i < most_looks; ++i) {
        if (!before) {
            before = read_index();
            continue;
        }
        struct stat info{};
        auto state = LogState::sound;
        if (::stat(path_.c_str(), &info) != 0 || info.st_dev != device_ || info.st_ino != inode_) {
            if (::fstat(log_.get(), &info) != 0)
                return LogState::cut;
            state = LogState::elsewhere;
        }
        if (before->frames != 0 &&
            (static_cast<std::uint64_t>(info.st_size) < bytes_of(before->frames, before->page) ||
             (part == Part::all && !begins_with(before->salts))))
            state = LogState::cut;
        if (state == LogState::sound)
            return state;
        // A log that was begun anew meanwhile is judged by what it is now: the index is changed first.
        std::atomic_thread_fence(std::memory_order_acquire);
        const auto after = read_index();
        if (after == before)
            return state;
        before = after;
    }
    return LogState::sound; // others write to it without a pause: the next commit looks again
}

bool LogWatch::all_copied() const noexcept {
    return index_ != nullptr && read_at<std::uint32_t>(index_ + at_backfill) >= read_copy(0).frames;
}

LogWatch::Extent LogWatch::extent() const noexcept {
    Extent extent;
    struct stat info{};
    if (index_ == nullptr || ::fstat(log_.get(), &info) != 0)
        return extent;
    const auto index = read_copy(0);
    extent.bytes = static_cast<std::uint64_t>(info.st_size);
    extent.wanted = bytes_of(index.frames, index.page);
    extent.same_begin = index.frames == 0 || begins_with(index.salts);
    if (extent.same_begin && extent.bytes > log_header_bytes && index.page != 0)
        extent.left_frames = (extent.bytes - log_header_bytes) / (frame_header_bytes + index.page);
    extent.copied_frames = read_at<std::uint32_t>(index_ + at_backfill);
    extent.copying_frames =
        std::max<std::uint64_t>(extent.copied_frames, read_at<std::uint32_t>(index_ + at_backfill_attempted));
    extent.frames = index.frames;
    return extent;
}

} // namespace holdfast::database
