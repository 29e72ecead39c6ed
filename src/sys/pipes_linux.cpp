#include "sys/pipes.hpp"

#include "sys/errors.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>

namespace holdfast::sys {

Result<Pipe> make_pipe() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0)
        return fail_sys("create a pipe");
    return Pipe{own_fd(fds[0]), own_fd(fds[1])};
}

Result<void> set_nonblocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return fail_sys("make a descriptor non-blocking");
    return {};
}

// A pipe has no MSG_NOSIGNAL, and the host's handling of SIGPIPE is not ours to change. So the signal is held
// back in this thread for the time of the write, and if our write raised it, taken out again.
Written write_quietly(int fd, std::string_view bytes) noexcept {
    sigset_t broken_pipe;
    sigset_t before;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    ssize_t n = 0;
    do {
        n = ::write(fd, bytes.data(), bytes.size());
    } while (n < 0 && errno == EINTR);
    const bool all = n == static_cast<ssize_t>(bytes.size());
    Written written;
    if (n >= 0)
        written.bytes = static_cast<std::size_t>(n);
    else
        written.state = errno == EAGAIN ? WriteState::would_block : WriteState::broken;
    // The signal comes with EPIPE, and also with a write that was cut short because the reader left in the
    // middle.
    if (!all && written.state != WriteState::would_block && ::sigismember(&before, SIGPIPE) == 0) {
        const timespec at_once{};
        while (::sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return written;
}

} // namespace holdfast::sys
