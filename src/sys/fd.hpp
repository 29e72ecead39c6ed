// A descriptor that is closed exactly once. Move-only; nothing outside of src/sys calls ::close.
#pragma once

#include <unistd.h>

#include <utility>

namespace holdfast::sys {

class Fd {
public:
    Fd() = default;
    explicit Fd(int fd) noexcept
        : fd_(fd) {}
    Fd(Fd&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
    explicit operator bool() const noexcept { return valid(); }
    // Gives the number away: the caller closes it.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    void reset() noexcept {
        if (fd_ >= 0)
            ::close(std::exchange(fd_, -1));
    }

private:
    int fd_ = -1;
};

// Takes what a call has just made (-1 and errno stay as they are), and moves it above 2: a host that has let
// go of its stdio writes to those numbers nevertheless, and puts something of its own there. Not for a lock
// file that this process has locked: moving closes the first number, which drops the lock. Where no other
// number is free it stays.
Fd own_fd(int made) noexcept;

} // namespace holdfast::sys
