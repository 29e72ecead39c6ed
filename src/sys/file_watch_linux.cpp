#include "sys/file_watch.hpp"

#include "core/text.hpp"
#include "sys/errors.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>

namespace holdfast::sys {

namespace {

constexpr unsigned changes = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY | IN_DELETE_SELF |
                             IN_MOVE_SELF | IN_ONLYDIR;

} // namespace

Result<FileWatch> FileWatch::watch(const std::string& path, unsigned mask) {
    Fd fd = own_fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!fd)
        return fail_sys("create an inotify instance (see /proc/sys/fs/inotify/max_user_instances)");
    if (::inotify_add_watch(fd.get(), path.c_str(), mask) < 0)
        return fail_sys(core::cat("watch ", path));
    return FileWatch(std::move(fd));
}

Result<FileWatch> FileWatch::on_file(const std::string& path) {
    return watch(path, IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF);
}

Result<FileWatch> FileWatch::on_directory(const std::string& path) {
    return watch(path, changes | IN_CLOSE_WRITE);
}

Result<FileWatch> FileWatch::on_changes_in(const std::string& path) {
    return watch(path, changes);
}

void FileWatch::clear() const {
    alignas(8) std::array<char, 4096> buffer;
    while (::read(fd_.get(), buffer.data(), buffer.size()) > 0) {
    }
}

} // namespace holdfast::sys
