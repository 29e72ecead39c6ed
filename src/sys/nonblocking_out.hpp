// Writing to a descriptor that was inherited, without ever waiting for whoever reads it.
#pragma once

#include "sys/fd.hpp"

#include <cstddef>

namespace holdfast::sys {

// O_NONBLOCK belongs to the open file, which is shared with whoever gave it to us and with all that it was
// given to: setting it there would change it for them too. So a pipe or a terminal is opened once more, for
// us alone; a socket is asked call by call; a file never waits. What cannot be opened again is only written
// to when it is polled as writable, and little at a time.
class NonBlockingOut {
public:
    explicit NonBlockingOut(int shared);
    // One that nobody shares, and that has O_NONBLOCK set. It stays the caller's.
    static NonBlockingOut of_own(int fd);

    // To poll for POLLOUT; -1 when it is closed.
    [[nodiscard]] int fd() const noexcept { return closed_ ? -1 : own_ ? own_.get() : shared_; }
    // How many bytes were taken: 0 when there is no room now, or nobody reads any more (see closed()).
    std::size_t write(const char* data, std::size_t size);
    [[nodiscard]] bool closed() const noexcept { return closed_; }

private:
    NonBlockingOut() = default;
    enum class Kind { own, socket, file, careful };
    int shared_ = -1;
    Fd own_;
    Kind kind_ = Kind::careful;
    bool closed_ = false;
};

} // namespace holdfast::sys
