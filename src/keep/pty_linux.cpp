#include "keep/pty.hpp"

#include "sys/errors.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace holdfast::keep {

namespace {

// All of it, waiting for room: a terminal is read slowly, and losing bytes would garble it.
bool write_all(int fd, const char* data, std::size_t size) {
    while (size > 0) {
        ssize_t n = ::write(fd, data, size);
        if (n < 0 && errno == EAGAIN) {
            pollfd one{.fd = fd, .events = POLLOUT, .revents = 0};
            ::poll(&one, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

} // namespace

Pty::Pty(sys::Fd master, sys::Fd slave)
    : master_(std::move(master))
    , slave_(std::move(slave)) {
    termios settings{};
    if (::tcgetattr(STDIN_FILENO, &settings) == 0) {
        before_ = settings;
        ::cfmakeraw(&settings);
        ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
    }
    copy_window_size();
}

Pty::~Pty() {
    if (master_ && before_)
        ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

Result<Pty> Pty::open() {
    sys::Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0)
        return sys::fail_sys("open a pseudo-terminal");
    sys::Fd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!slave)
        return sys::fail_sys("open a pseudo-terminal");
    ::fcntl(master.get(), F_SETFL, O_NONBLOCK);
    return Pty(std::move(master), std::move(slave));
}

void Pty::copy_window_size() const {
    winsize size{};
    if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        ::ioctl(master_.get(), TIOCSWINSZ, &size);
}

bool Pty::from_host() {
    std::array<char, 4096> buffer;
    ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0) {
        constexpr char end_of_transmission = 4;
        write_all(master_.get(), &end_of_transmission, 1);
        return false;
    }
    return write_all(master_.get(), buffer.data(), static_cast<std::size_t>(n));
}

bool Pty::to_host() {
    std::array<char, 4096> buffer;
    ssize_t n = ::read(master_.get(), buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0)
        return false; // EIO: every slave was closed
    return write_all(STDOUT_FILENO, buffer.data(), static_cast<std::size_t>(n));
}

} // namespace holdfast::keep
