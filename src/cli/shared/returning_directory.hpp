// A directory that may not be there yet, or be wiped away and made again, as a runtime directory is at logout
// and login. Whoever watches it makes nothing: while it is not there, the nearest one above it tells when
// that changes.
#pragma once

#include "sys/file_watch.hpp"

#include <sys/types.h>

#include <optional>
#include <string>

namespace holdfast::cli {

class ReturningDirectory {
public:
    // An absolute path.
    explicit ReturningDirectory(std::string path)
        : path_(std::move(path)) {}

    // What happens from here on turns fd() readable.
    void clear();
    // -1 when nothing can be watched (no inotify instance left, or it may not be read): then look now and
    // then.
    [[nodiscard]] int fd() const { return watch_ ? watch_->fd() : -1; }

private:
    struct Place {
        std::string path;
        dev_t device = 0;
        ino_t inode = 0;
        bool operator==(const Place&) const = default;
    };
    // The directory, or as much of the way to it as there is.
    [[nodiscard]] Place nearest() const;

    std::string path_;
    std::optional<sys::FileWatch> watch_;
    Place watched_;
};

} // namespace holdfast::cli
