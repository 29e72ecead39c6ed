#include "sys/unix_sockets.hpp"

#include "sys/errors.hpp"
#include "sys/fd.hpp"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstring>
#include <vector>

namespace holdfast::sys {

namespace {

constexpr unsigned char state_listening = 10; // TCP_LISTEN, which unix sockets borrow
constexpr unsigned char shut_both_ways = 3;

template <class T>
T copy_of(const unsigned char* from) {
    T out{};
    std::memcpy(&out, from, sizeof out); // netlink aligns to 4 only
    return out;
}

constexpr std::size_t aligned(std::size_t size) {
    return (size + 3) & ~std::size_t{3};
}

void add_socket(const unsigned char* data, std::size_t size, UnixSockets& out) {
    if (size < sizeof(unix_diag_msg))
        return;
    auto head = copy_of<unix_diag_msg>(data);
    UnixSocket socket;
    socket.stream = head.udiag_type == SOCK_STREAM || head.udiag_type == SOCK_SEQPACKET;
    socket.listening = head.udiag_state == state_listening;
    std::size_t at = aligned(sizeof head);
    while (at + sizeof(nlattr) <= size) {
        auto attribute = copy_of<nlattr>(data + at);
        if (attribute.nla_len < sizeof attribute || at + attribute.nla_len > size)
            break;
        const unsigned char* value = data + at + sizeof attribute;
        std::size_t length = attribute.nla_len - sizeof attribute;
        switch (attribute.nla_type) {
        case UNIX_DIAG_NAME:
            socket.named = length > 0;
            break;
        case UNIX_DIAG_PEER:
            if (length >= 4)
                socket.peer = copy_of<std::uint32_t>(value);
            break;
        case UNIX_DIAG_RQLEN:
            if (length >= sizeof(unix_diag_rqlen))
                socket.unread = !socket.listening && copy_of<unix_diag_rqlen>(value).udiag_rqueue > 0;
            break;
        case UNIX_DIAG_SHUTDOWN:
            socket.shut = length >= 1 && *value == shut_both_ways;
            break;
        default:
            break;
        }
        at += aligned(attribute.nla_len);
    }
    out[head.udiag_ino] = socket;
}

} // namespace

Result<UnixSockets> list_unix_sockets() {
    Fd link(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!link)
        return fail_sys("ask the kernel for its unix sockets");
    // The answer comes from the kernel at once; the bound is for sandboxes that only pretend.
    timeval patience{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(link.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct {
        nlmsghdr head;
        unix_diag_req body;
    } request{};
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.body.sdiag_family = AF_UNIX;
    request.body.udiag_states = ~0U;
    request.body.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN;
    if (::send(link.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request))
        return fail_sys("ask the kernel for its unix sockets");

    UnixSockets out;
    std::vector<unsigned char> buffer(std::size_t{256} * 1024);
    for (;;) {
        ssize_t n = ::recv(link.get(), buffer.data(), buffer.size(), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail_sys("read the kernel's list of unix sockets", n < 0 ? errno : EPROTO);
        std::size_t size = static_cast<std::size_t>(n), at = 0;
        while (at + sizeof(nlmsghdr) <= size) {
            auto head = copy_of<nlmsghdr>(buffer.data() + at);
            if (head.nlmsg_len < sizeof head || at + head.nlmsg_len > size)
                return fail(Errc::protocol, "the kernel's list of unix sockets is cut off");
            const unsigned char* body = buffer.data() + at + sizeof head;
            if (head.nlmsg_type == NLMSG_DONE)
                return out;
            if (head.nlmsg_type == NLMSG_ERROR)
                return fail_sys("list the unix sockets", -copy_of<int>(body));
            add_socket(body, head.nlmsg_len - sizeof head, out);
            at += aligned(head.nlmsg_len);
        }
    }
}

} // namespace holdfast::sys
