// Whether the write-ahead log at its place is still the one that this process writes. A backup or clean-up
// tool may truncate, remove, replace or overwrite it; SQLite never looks, and would go on committing into a
// log that no later process can read.
//
// What the log must be is taken from the wal-index in shared memory (the number of its frames, and the salts
// of its first 32 bytes; the format is part of SQLite's file format), so that what another process rightly
// did to it, a checkpoint by a person with a tool for example, is no alarm. Not noticed: a log that is cut to
// more than 32 bytes within the microseconds of one commit's own writes, and one that is changed in its
// middle.
#pragma once

#include "database/database.hpp"
#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::database {

enum class LogState : std::uint8_t {
    sound,
    elsewhere, // another file, or none, is at its place; the open one has all that was written
    cut,       // it is shorter than what was written, or begins with something else
};

class LogWatch {
public:
    LogWatch() = default;
    LogWatch(const LogWatch&) = delete;
    LogWatch& operator=(const LogWatch&) = delete;

    // `database` is the writer's connection, which has read or written by now, and `log` a descriptor of the
    // log that it opened (LogCapture in watched_vfs.hpp). Used until detach(), which comes before that
    // connection closes.
    Result<void> attach(Database& database, sys::Fd log, std::string path);
    void detach() noexcept { index_ = nullptr; }

    // One stat, and one pread of 8 bytes when the log has frames and its beginning is asked for. From any
    // thread. Detached: sound.
    enum class Part : std::uint8_t { all, place }; // place: which file it is, and its size
    [[nodiscard]] LogState look(Part part = Part::all) const noexcept;

    // Whether the database has all frames. Costs no system call.
    [[nodiscard]] bool all_copied() const noexcept;

    // For the one that saves what is left.
    struct Extent {
        std::uint64_t bytes = 0;          // that the open file has
        std::uint64_t wanted = 0;         // that it had when its last frame was written
        std::uint64_t left_frames = 0;    // whole ones that it can still have
        std::uint64_t frames = 0;         // that were written
        std::uint64_t copied_frames = 0;  // that a checkpoint has copied into the database
        std::uint64_t copying_frames = 0; // that one has copied, or has begun to copy
        bool same_begin = false;          // it begins as it was written
    };
    [[nodiscard]] Extent extent() const noexcept;

private:
    struct Index {
        std::uint32_t frames = 0;
        std::uint32_t page = 0;
        std::uint64_t salts = 0;
        bool operator==(const Index&) const = default;
    };
    [[nodiscard]] Index read_copy(std::size_t at) const noexcept;
    [[nodiscard]] std::optional<Index> read_index() const noexcept; // nothing: it is just being written
    [[nodiscard]] bool begins_with(std::uint64_t salts) const noexcept;

    const volatile unsigned char* index_ = nullptr; // region 0 of the wal-index, mapped by SQLite
    sys::Fd log_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

} // namespace holdfast::database
