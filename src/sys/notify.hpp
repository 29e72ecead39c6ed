// The sd_notify protocol, both ways: hearing a helper, and speaking to the service manager above us.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sys {

class NotifySocket {
public:
    // An abstract address: it vanishes with us, so nothing is ever left to clean up.
    static Result<NotifySocket> open();
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& address() const noexcept { return address_; } // for NOTIFY_SOCKET
    // The next message of a process of our own user (or root); others are dropped unread.
    [[nodiscard]] std::optional<std::string> next() const;

private:
    NotifySocket(Fd fd, std::string address)
        : fd_(std::move(fd))
        , address_(std::move(address)) {}
    Fd fd_;
    std::string address_;
};

// To whoever set NOTIFY_SOCKET for us. Does nothing when `address` is empty or nobody listens.
void notify_above(const std::string& address, std::string_view text);

} // namespace holdfast::sys
