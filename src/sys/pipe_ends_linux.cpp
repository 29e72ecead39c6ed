#include "sys/pipe_ends.hpp"

#include "base/text.hpp"
#include "sys/fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/vfs.h>

#include <string>

namespace holdfast::sys {

namespace {

constexpr decltype(statfs::f_type) pipefs_magic = 0x50495045;

// A second descriptor for the same end. Opening by /proc needs no more than the right to look at the process,
// unlike pidfd_getfd, which hardened kernels keep for debuggers.
Fd open_end(pid_t pid, int fd, int direction) {
    std::string path = base::cat("/proc/", pid, "/fd/", fd);
    // First as a mere path: opening a device or a FIFO for real can have effects.
    Fd name(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct statfs filesystem{};
    if (!name || ::fstatfs(name.get(), &filesystem) != 0 || filesystem.f_type != pipefs_magic)
        return {};
    std::string same = base::cat("/proc/self/fd/", name.get());
    return Fd(::open(same.c_str(), direction | O_NONBLOCK | O_CLOEXEC));
}

short events_of(const Fd& end, short asked) {
    pollfd one{.fd = end.get(), .events = asked, .revents = 0};
    return ::poll(&one, 1, 0) >= 0 ? one.revents : POLLNVAL;
}

} // namespace

PipeInput look_at_pipe_input(pid_t pid, int fd) {
    Fd end = open_end(pid, fd, O_RDONLY);
    if (!end)
        return {};
    short events = events_of(end, POLLIN);
    if (events & POLLNVAL)
        return {};
    return {.writers = events & POLLHUP ? PipeEnd::gone : PipeEnd::held, .unread = (events & POLLIN) != 0};
}

PipeEnd look_at_pipe_output(pid_t pid, int fd) {
    Fd end = open_end(pid, fd, O_WRONLY);
    if (!end)
        return PipeEnd::unknown;
    short events = events_of(end, POLLOUT);
    if (events & POLLNVAL)
        return PipeEnd::unknown;
    return events & POLLERR ? PipeEnd::gone : PipeEnd::held;
}

} // namespace holdfast::sys
