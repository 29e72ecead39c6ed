// inotify, as far as Holdfast needs it: something to poll that turns readable when files change.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <string>

namespace holdfast::sys {

class FileWatch {
public:
    // The file itself being unlinked, moved, or changed in its attributes (link count).
    static Result<FileWatch> on_file(const std::string& path);
    // Anything that happens to the files of a directory: written, renamed into place, closed after writing,
    // removed; and the end of the directory itself, after which nothing more is heard.
    static Result<FileWatch> on_directory(const std::string& path);
    // The same without the closing: everybody who opens a lock file closes it again, which changes nothing, and
    // would wake each who waits for a word of its owner.
    static Result<FileWatch> on_changes_in(const std::string& path);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    // Swallows what is pending. The watcher then looks at the files: an event is a hint, never the news
    // itself.
    void clear() const;

private:
    explicit FileWatch(Fd fd) noexcept
        : fd_(std::move(fd)) {}
    static Result<FileWatch> watch(const std::string& path, unsigned mask);
    Fd fd_;
};

} // namespace holdfast::sys
