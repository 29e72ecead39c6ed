#include "cli/shared/returning_directory.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace holdfast::cli {

void ReturningDirectory::clear() {
    if (watch_)
        watch_->clear();
    for (Place now = nearest(); !watch_ || now != watched_; now = nearest()) {
        auto made = sys::FileWatch::on_directory(now.path);
        watch_ = made ? std::optional(std::move(*made)) : std::nullopt;
        if (!watch_ && made.error().code != Errc::not_found)
            return;
        watched_ = std::move(now);
    }
}

ReturningDirectory::Place ReturningDirectory::nearest() const {
    std::string path = path_;
    struct stat file{};
    while (::stat(path.c_str(), &file) != 0 && path != "/")
        path.resize(std::max<std::size_t>(path.rfind('/'), 1)); // absolute, so there is one
    return {.path = path, .device = file.st_dev, .inode = file.st_ino};
}

} // namespace holdfast::cli
