// The lock file of a slot: three bytes, each a lock (docs/slot-protocol.md).
//
// A POSIX lock belongs to the process and vanishes when *any* descriptor of its file is closed there. So a
// lock file is opened once per process, here, and everything that wants to know about it inside this process
// asks this table instead of opening it again. The table is the one process-wide object of the project,
// because the kernel's state is process-wide.
//
// fork(): the child closes its copies at once and owns nothing; the parent keeps everything.
#pragma once

#include "holdfast/result.hpp"
#include "sys/clock.hpp"
#include "sys/lock_waiter.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::sys {

enum class LockByte : int { life = 0, owner = 1, door = 2 };

// What the kernel answers about a lock file, taking nothing.
struct LockSight {
    bool exists = false;
    bool owned = false;
    pid_t owner_pid = 0; // 0 when owned from another PID namespace
    bool owned_by_self = false;
    bool life_held = false;  // by anybody, this process included
    std::uint64_t epoch = 0; // of the present owner, or of the last
};

class LockFile {
public:
    // Opens or creates it. When another thread of this process is at the same file, waits for it until the
    // deadline; then error `held`. Errors also: unsafe_directory (not a plain file of ours), not_permitted,
    // no_space, io. With `create` off a missing file is the error not_found, and root may open another
    // user's.
    static Result<LockFile> open(const std::string& path, const Deadline& deadline, bool create = true);

    // One that is no file at all: fd() is -1, and nothing can be locked. As in the child of a fork.
    static LockFile none(std::string path) { return {nullptr, std::move(path)}; }

    // Looks from anywhere, without taking or creating. Safe beside an owner in the same process. Error
    // unsafe_directory: what stands there is not a plain file.
    static Result<LockSight> look(const std::string& path);

    LockFile(LockFile&&) noexcept;
    LockFile& operator=(LockFile&&) noexcept;
    LockFile(const LockFile&) = delete;
    LockFile& operator=(const LockFile&) = delete;
    ~LockFile(); // drops all locks of this process on it; life stays with whoever inherited the descriptor

    [[nodiscard]] LockSight look() const;
    // Tries to take a byte at once: life and door as OFD write locks, owner as a POSIX write lock.
    [[nodiscard]] Result<bool> try_lock(LockByte byte);
    void unlock(LockByte byte);
    // Waits for life or door in the kernel, pollable. `shared`: a read lock, to learn that it came free.
    [[nodiscard]] Result<LockWaiter> wait_for(LockByte byte, bool shared);
    // The waiter's byte was granted exclusively and is now ours.
    void note_taken(LockByte byte);

    // Whether the path still shows this very file, linked.
    [[nodiscard]] bool still_at_path() const;
    Result<void> write_epoch(std::uint64_t epoch);
    [[nodiscard]] int fd() const noexcept; // -1 in the child of a fork, and of none()
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    // In the child of a fork: everything stays the parent's. fork() does this by itself, _Fork() does not.
    static void leave_to_parent() noexcept;

    struct Entry;

private:
    LockFile(std::shared_ptr<Entry> entry, std::string path);
    void drop() noexcept;
    std::shared_ptr<Entry> entry_;
    std::string path_;
};

} // namespace holdfast::sys
