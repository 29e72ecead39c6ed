#include "sys/fd.hpp"

#include <fcntl.h>

#include <cerrno>

namespace holdfast::sys {

Fd own_fd(int made) noexcept {
    if (made < 0 || made > STDERR_FILENO)
        return Fd(made);
    const int before = errno;
    const int moved = ::fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    errno = before;
    if (moved < 0)
        return Fd(made);
    ::close(made);
    return Fd(moved);
}

} // namespace holdfast::sys
