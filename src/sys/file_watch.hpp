// inotify, as far as Holdfast needs it: something to poll that turns readable when files change.
//
// To close an inotify instance costs its closer the time until the kernel has seen every event to its end:
// some 20 ms, and seconds where a process of low priority stands in the middle of one. So instances are not
// closed but laid aside, without their watch, for whoever needs one next in this process; a few of them, the
// rest is closed. The child of a fork has none of them: it would take its parent's events away.
#pragma once

#include "holdfast/result.hpp"

#include <cstdint>
#include <string>

namespace holdfast::sys {

class FileWatch {
public:
    // The file itself being unlinked, moved, or changed in its attributes (link count).
    static Result<FileWatch> on_file(const std::string& path);
    // Anything that happens to the files of a directory: written, renamed into place, closed after writing,
    // removed; and the end of the directory itself, after which nothing more is heard.
    static Result<FileWatch> on_directory(const std::string& path);
    // The same without the closing: everybody who opens a lock file closes it again, which changes nothing,
    // and would wake each who waits for a word of its owner.
    static Result<FileWatch> on_changes_in(const std::string& path);

    [[nodiscard]] int fd() const noexcept { return fd_; }
    // Swallows what is pending. The watcher then looks at the files: an event is a hint, never the news
    // itself.
    void clear() const;

    FileWatch(FileWatch&& other) noexcept;
    FileWatch& operator=(FileWatch&& other) noexcept;
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;
    ~FileWatch();

private:
    explicit FileWatch(int fd) noexcept;
    static Result<FileWatch> watch(const std::string& path, unsigned mask);
    void end() noexcept;
    int fd_ = -1;
    int watch_ = -1;
    std::uint64_t fork_depth_ = 0; // where it was made: in a child of that process it is nothing any more
};

} // namespace holdfast::sys
