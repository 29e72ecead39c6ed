#include "sys/notify.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"
#include "sys/random.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace holdfast::sys {

namespace {

std::optional<std::pair<sockaddr_un, socklen_t>> to_address(const std::string& text) {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    if (text.empty() || text.size() >= sizeof out.sun_path || (text[0] != '/' && text[0] != '@'))
        return std::nullopt;
    std::memcpy(out.sun_path, text.data(), text.size());
    if (text[0] == '@')
        out.sun_path[0] = '\0';
    return std::pair(out, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size()));
}

} // namespace

Result<NotifySocket> NotifySocket::open() {
    Fd fd = own_fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    std::string address = base::cat("@holdfast/notify/", random_token());
    auto where = to_address(address);
    int on = 1;
    if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
        ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where->first), where->second) != 0)
        return fail_sys("open a notification socket");
    return NotifySocket(std::move(fd), std::move(address));
}

std::optional<std::string> NotifySocket::next() const {
    for (;;) {
        std::array<char, 4096> buffer;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + 256> control;
        iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        ssize_t n = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return std::nullopt;
        bool trusted = false;
        for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
                ucred who{};
                std::memcpy(&who, CMSG_DATA(c), sizeof who);
                trusted = who.uid == ::geteuid() || who.uid == 0;
            } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
                // Descriptors are not asked for; an unread one would leak.
                std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (std::size_t i = 0; i < count; ++i) {
                    int fd = -1;
                    std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
                    Fd closed(fd);
                }
            }
        }
        if (trusted)
            return std::string(buffer.data(), static_cast<std::size_t>(n));
    }
}

void notify_above(const std::string& address, std::string_view text) {
    auto where = to_address(address);
    Fd fd = own_fd(where ? ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1);
    if (fd)
        ::sendto(fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&where->first), where->second);
}

} // namespace holdfast::sys
