#include "sys/nonblocking_out.hpp"

#include "base/text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace holdfast::sys {

namespace {
// To open the master of a terminal again makes another terminal.
bool is_terminal_master(const struct stat& file) {
    constexpr unsigned tty_aux = 5, ptmx = 2;
    return S_ISCHR(file.st_mode) && file.st_rdev == makedev(tty_aux, ptmx);
}
} // namespace

NonBlockingOut NonBlockingOut::of_own(int fd) {
    NonBlockingOut out;
    out.shared_ = fd;
    out.kind_ = Kind::file;
    return out;
}

NonBlockingOut::NonBlockingOut(int shared)
    : shared_(shared) {
    struct stat file{};
    if (::fstat(shared, &file) != 0) {
        closed_ = true;
    } else if (S_ISSOCK(file.st_mode)) {
        kind_ = Kind::socket;
    } else if (is_terminal_master(file)) {
        kind_ = Kind::careful;
    } else if (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode)) {
        own_ = Fd(::open(base::cat("/proc/self/fd/", shared).c_str(),
                         O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        kind_ = own_ ? Kind::own : Kind::careful;
    } else {
        kind_ = Kind::file; // its place is in the open file, which must stay the shared one
    }
}

std::size_t NonBlockingOut::write(const char* data, std::size_t size) {
    if (closed_)
        return 0;
    ssize_t n = -1;
    do {
        if (kind_ == Kind::socket) {
            n = ::send(shared_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        } else if (kind_ == Kind::careful) {
            pollfd one{.fd = shared_, .events = POLLOUT, .revents = 0};
            if (::poll(&one, 1, 0) <= 0)
                return 0;
            n = ::write(shared_, data, std::min<std::size_t>(size, PIPE_BUF));
        } else {
            n = ::write(fd(), data, size);
        }
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        closed_ = true; // nobody reads it, the disk is full, the terminal is gone
    return n > 0 ? static_cast<std::size_t>(n) : 0;
}

} // namespace holdfast::sys
