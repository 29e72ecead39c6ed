#include "sys/lock_file.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/own_rights.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace holdfast::sys {

struct LockFile::Entry {
    dev_t device = 0;
    ino_t inode = 0;
    int fd = -1; // -1 after a fork, in the child
    bool owner = false;
    bool life = false;
};

namespace {

struct Table {
    std::mutex mutex; // of everything below
    std::condition_variable changed;
    std::vector<std::shared_ptr<LockFile::Entry>> entries;
    // Threads that look at a file that is not in the table, each through a descriptor of its own, many at
    // once and without the mutex. Nobody opens one for the table meanwhile: a looker's closing would drop its
    // owner lock. Who wants to open goes before those who want to look.
    unsigned lookers = 0;
    unsigned openers = 0;

    std::shared_ptr<LockFile::Entry> find(const struct stat& file) {
        for (auto& entry : entries)
            if (entry->device == file.st_dev && entry->inode == file.st_ino)
                return entry;
        return nullptr;
    }
};

Table& table() {
    // Never destroyed: an Ownership that lives in a static object may be released after everything else.
    static Table* const instance = [] {
        auto* made = new Table;
        ::pthread_atfork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); },
                         [] {
                             LockFile::leave_to_parent();
                             table().mutex.unlock();
                         });
        return made;
    }();
    return *instance;
}

struct flock request_for(LockByte byte, short type) {
    struct flock out{};
    out.l_type = type;
    out.l_whence = SEEK_SET;
    out.l_start = static_cast<off_t>(byte);
    out.l_len = 1;
    return out;
}

// The epoch stands in the file's text with a fixed width, so that a rewrite in place never changes its
// length.
constexpr std::string_view epoch_prefix = "holdfast epoch ";
constexpr std::size_t epoch_digits = 20;

std::uint64_t epoch_in(int fd) {
    std::array<char, epoch_prefix.size() + epoch_digits + 1> text{};
    if (::pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return 0;
    std::string_view view(text.data(), text.size());
    if (!view.starts_with(epoch_prefix) || view.back() != '\n')
        return 0;
    std::uint64_t epoch = 0;
    const char* begin = view.data() + epoch_prefix.size();
    auto [end, error] = std::from_chars(begin, begin + epoch_digits, epoch);
    return error == std::errc{} && end == begin + epoch_digits ? epoch : 0;
}

// One question about one byte. Asked as a would-be reader: waiters hold read locks for an instant and are
// nobody.
struct Answer {
    bool held = false;
    pid_t pid = 0;
};
Answer ask(int fd, LockByte byte) {
    struct flock question = request_for(byte, F_RDLCK);
    // As an OFD question, so that our own OFD locks do not answer; a POSIX lock of ours is known from the
    // table.
    if (::fcntl(fd, F_OFD_GETLK, &question) != 0 || question.l_type == F_UNLCK)
        return {};
    return {.held = true, .pid = question.l_pid > 0 ? question.l_pid : 0};
}

LockSight sight_through(int fd, const LockFile::Entry* own) {
    LockSight out;
    out.exists = true;
    // Owner, life, owner again: a starter between the first two questions must not look like an orphan.
    for (int look = 0; look < 2; ++look) {
        Answer owner = ask(fd, LockByte::owner);
        out.owned = owner.held;
        out.owner_pid = owner.pid;
        if (own && own->owner) {
            out.owned = out.owned_by_self = true;
            out.owner_pid = ::getpid();
        }
        // An owner holds life too, or is about to: only without one is it a question.
        out.life_held = out.owned || (own && own->life) || ask(fd, LockByte::life).held;
        if (out.owned || !out.life_held)
            break;
    }
    out.epoch = epoch_in(fd);
    return out;
}

// Through a descriptor of its own, for a file that this process has not in its table.
Result<LockSight> look_from_outside(const std::string& path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd) {
        if (errno == ENOENT)
            return LockSight{};
        if (errno == ELOOP)
            return fail(Errc::unsafe_directory,
                        base::cat(path, " is a symbolic link; remove it and try again"), ELOOP);
        return fail_sys(base::cat("look at ", path));
    }
    const LockSight sight = sight_through(fd.get(), nullptr);
    // What has an epoch at its beginning is a plain file. Without one it may be a file that nobody has owned
    // yet.
    struct stat file{};
    if (sight.epoch == 0 && (::fstat(fd.get(), &file) != 0 || !S_ISREG(file.st_mode)))
        return fail(Errc::unsafe_directory,
                    base::cat(path, " is not a plain file; move it away and try again"));
    return sight;
}

} // namespace

LockFile::LockFile(std::shared_ptr<Entry> entry, std::string path)
    : entry_(std::move(entry))
    , path_(std::move(path)) {}
LockFile::LockFile(LockFile&&) noexcept = default;
LockFile& LockFile::operator=(LockFile&& other) noexcept {
    if (this != &other) {
        drop();
        entry_ = std::move(other.entry_);
        path_ = std::move(other.path_);
    }
    return *this;
}
LockFile::~LockFile() {
    drop();
}

void LockFile::leave_to_parent() noexcept {
    // The child's copies share the parent's life and door locks: close them, never unlock.
    for (auto& entry : table().entries) {
        ::close(entry->fd);
        entry->fd = -1;
        entry->owner = entry->life = false;
    }
    table().entries.clear();
    // The parent's other threads are not here: nobody looks, nobody waits.
    table().lookers = table().openers = 0;
    std::construct_at(&table().changed);
}

void LockFile::drop() noexcept {
    if (!entry_)
        return;
    std::lock_guard guard(table().mutex);
    if (entry_->fd >= 0) {
        ::close(entry_->fd); // close, not unlock: life stays with those who inherited it
        entry_->fd = -1;
        std::erase(table().entries, entry_);
        table().changed.notify_all();
    }
    entry_.reset();
}

Result<LockFile> LockFile::open(const std::string& path, const Deadline& deadline, bool create) {
    std::unique_lock guard(table().mutex);
    // While another thread of ours is at this file, opening and closing it would drop that thread's owner
    // lock.
    struct stat file{};
    for (;;) {
        ++table().openers;
        table().changed.wait(guard, [] { return table().lookers == 0; }); // microseconds
        if (--table().openers == 0)
            table().changed.notify_all();
        if (table().entries.empty() || ::stat(path.c_str(), &file) != 0 || !table().find(file))
            break;
        if (deadline.passed())
            return fail(Errc::held, base::cat("this process (", ::getpid(), ") is already at ", path));
        if (deadline.moment())
            table().changed.wait_for(guard, std::chrono::milliseconds(deadline.poll_timeout()));
        else
            table().changed.wait(guard);
    }
    // Moved, if need be, before anything is locked: see own_fd().
    const int flags = O_RDWR | (create ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int fd = own_fd(::open(path.c_str(), flags, 0600)).release();
    if (fd < 0) {
        if (errno == ELOOP)
            return fail(Errc::unsafe_directory,
                        base::cat(path, " is a symbolic link; remove it and try again"), ELOOP);
        return create ? fail_making(base::cat("open ", path)) : fail_sys(base::cat("open ", path));
    }
    const bool root_looks = !create && ::geteuid() == 0;
    if (::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || (file.st_uid != ::geteuid() && !root_looks)) {
        bool plain = S_ISREG(file.st_mode);
        ::close(fd); // not in the table, so no lock of ours is on it
        return fail(
            Errc::unsafe_directory,
            plain ? base::cat(path, " belongs to user ", file.st_uid, ", not to you; use another directory")
                  : base::cat(path, " is not a plain file; move it away and try again"));
    }
    own_rights(fd, file);
    auto entry = std::make_shared<Entry>();
    entry->device = file.st_dev;
    entry->inode = file.st_ino;
    entry->fd = fd;
    table().entries.push_back(entry);
    return LockFile(std::move(entry), path);
}

Result<LockSight> LockFile::look(const std::string& path) {
    {
        std::unique_lock guard(table().mutex);
        table().changed.wait(guard, [] { return table().openers == 0; });
        // Through the descriptor that we have: closing another would drop our POSIX lock.
        if (!table().entries.empty()) {
            struct stat file{};
            if (::stat(path.c_str(), &file) != 0) {
                if (errno == ENOENT)
                    return LockSight{};
                return fail_sys(base::cat("look at ", path));
            }
            if (auto entry = table().find(file))
                return sight_through(entry->fd, entry.get());
        }
        ++table().lookers;
    }
    auto sight = look_from_outside(path);
    std::lock_guard guard(table().mutex);
    if (--table().lookers == 0)
        table().changed.notify_all();
    return sight;
}

LockSight LockFile::look() const {
    std::lock_guard guard(table().mutex);
    return sight_through(entry_->fd, entry_.get());
}

Result<bool> LockFile::try_lock(LockByte byte) {
    std::lock_guard guard(table().mutex);
    struct flock request = request_for(byte, F_WRLCK);
    if (::fcntl(entry_->fd, byte == LockByte::owner ? F_SETLK : F_OFD_SETLK, &request) != 0) {
        if (errno == EAGAIN || errno == EACCES)
            return false;
        return fail_sys(base::cat("lock ", path_));
    }
    if (byte == LockByte::owner) {
        entry_->owner = true;
        table().changed.notify_all(); // other threads of ours may be waiting to learn who gets it
    }
    if (byte == LockByte::life)
        entry_->life = true;
    return true;
}

void LockFile::unlock(LockByte byte) {
    std::lock_guard guard(table().mutex);
    if (entry_->fd < 0)
        return;
    struct flock request = request_for(byte, F_UNLCK);
    ::fcntl(entry_->fd, byte == LockByte::owner ? F_SETLK : F_OFD_SETLK, &request);
    if (byte == LockByte::owner)
        entry_->owner = false;
    if (byte == LockByte::life)
        entry_->life = false;
}

Result<LockWaiter> LockFile::wait_for(LockByte byte, bool shared) {
    return LockWaiter::start(entry_->fd, static_cast<int>(byte), shared);
}

void LockFile::note_taken(LockByte byte) {
    std::lock_guard guard(table().mutex);
    if (byte == LockByte::life)
        entry_->life = true;
}

bool LockFile::still_at_path() const {
    struct stat mine{}, there{};
    if (fd() < 0 || ::fstat(entry_->fd, &mine) != 0 || mine.st_nlink == 0)
        return false;
    return ::stat(path_.c_str(), &there) == 0 && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

Result<void> LockFile::write_epoch(std::uint64_t epoch) {
    std::string digits = std::to_string(epoch);
    std::string text = base::cat(epoch_prefix, std::string(epoch_digits - digits.size(), '0'), digits, '\n');
    if (::pwrite(entry_->fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return fail_sys(base::cat("write ", path_));
    return {};
}

int LockFile::fd() const noexcept {
    return entry_ ? entry_->fd : -1;
}

} // namespace holdfast::sys
