// Files for their owner, whatever the umask: one that takes rights from the owner (0277, 0777) would leave
// files that this user can never open again.
#pragma once

#include <sys/stat.h>

namespace holdfast::sys {

// Gives a file that was just opened, and that `file` describes, back what a umask has taken from its owner. A
// file that was there before keeps what it has: it could be opened.
inline void own_rights(int fd, const struct stat& file) noexcept {
    constexpr mode_t read_and_write = S_IRUSR | S_IWUSR;
    if ((file.st_mode & read_and_write) != read_and_write)
        (void)::fchmod(fd, (file.st_mode & 07777) | read_and_write); // fails for a file of somebody else's
}

inline void own_rights(int fd) noexcept {
    struct stat file{};
    if (::fstat(fd, &file) == 0)
        own_rights(fd, file);
}

} // namespace holdfast::sys
