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
