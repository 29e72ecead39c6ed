#include "sys/file_watch.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/fork_shield.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

namespace holdfast::sys {

namespace {

constexpr unsigned changes = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY |
                             IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

// The instances that nobody uses now. Process-wide, like the table of descriptors that they stand in.
class Shelf {
public:
    // -1 with errno: the kernel has none left for this user.
    int take() {
        const ForkShield::NoFork quiet;
        if (depth_ != fork_depth()) { // closed when this child was forked
            depth_ = fork_depth();
            idle_.clear();
        }
        if (!idle_.empty()) {
            const int fd = idle_.back();
            idle_.pop_back();
            return fd;
        }
        const int fd = own_fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)).release();
        if (fd >= 0)
            shield_.add(fd, quiet);
        return fd;
    }
    void lay_aside(int fd) {
        {
            const ForkShield::NoFork quiet;
            if (idle_.size() < most_idle) {
                idle_.push_back(fd);
                return;
            }
        }
        shield_.forget(fd);
        ::close(fd);
    }

private:
    static constexpr std::size_t most_idle = 4;
    ForkShield shield_;
    std::vector<int> idle_;
    std::uint64_t depth_ = 0;
};

Shelf& shelf() {
    static auto* const instance = new Shelf; // never destroyed: a watch may live in a static object
    return *instance;
}

} // namespace

FileWatch::FileWatch(int fd) noexcept
    : fd_(fd)
    , fork_depth_(fork_depth()) {}

FileWatch::FileWatch(FileWatch&& other) noexcept
    : fd_(std::exchange(other.fd_, -1))
    , watch_(std::exchange(other.watch_, -1))
    , fork_depth_(other.fork_depth_) {}

FileWatch& FileWatch::operator=(FileWatch&& other) noexcept {
    if (this != &other) {
        end();
        fd_ = std::exchange(other.fd_, -1);
        watch_ = std::exchange(other.watch_, -1);
        fork_depth_ = other.fork_depth_;
    }
    return *this;
}

FileWatch::~FileWatch() {
    end();
}

void FileWatch::end() noexcept {
    // In the child of a fork the descriptor was closed at once, and its number may be somebody else's.
    if (fd_ < 0 || fork_depth_ != fork_depth())
        return;
    if (watch_ >= 0)
        ::inotify_rm_watch(fd_, watch_);
    clear();
    shelf().lay_aside(fd_);
    fd_ = -1;
}

Result<FileWatch> FileWatch::watch(const std::string& path, unsigned mask) {
    const int fd = shelf().take();
    if (fd < 0)
        return fail_sys("create an inotify instance (see /proc/sys/fs/inotify/max_user_instances)");
    FileWatch made(fd);
    made.watch_ = ::inotify_add_watch(fd, path.c_str(), mask);
    if (made.watch_ < 0)
        return fail_sys(base::cat("watch ", path));
    return made;
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
    while (::read(fd_, buffer.data(), buffer.size()) > 0) {
    }
}

} // namespace holdfast::sys
