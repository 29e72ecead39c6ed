#include "memory/serve/attach_socket.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include "json/json_fields.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::size_t most_descriptors = 8;
constexpr std::size_t most_text = 4096;

// A home's path may be longer than a socket's address can be, so it is named through a descriptor of its
// folder.
sockaddr_un address_in(int folder, std::string_view name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto path = cat("/proc/self/fd/", folder, "/", name);
    std::memcpy(address.sun_path, path.data(), path.size() + 1);
    return address;
}

Result<sys::Fd> open_folder(const std::string& home) {
    sys::Fd folder(::open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder)
        return sys::fail_sys(cat("open ", home));
    return folder;
}

} // namespace

Result<sys::Fd> listen_in(const std::string& home) {
    auto folder = open_folder(home);
    if (!folder)
        return folder;
    const std::string fresh = cat(attach_socket_name, ".new");
    const auto address = address_in(folder->get(), fresh);
    sys::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // An empty directory has no business under either name.
    if (::unlinkat(folder->get(), fresh.c_str(), 0) != 0 && errno == EISDIR)
        ::unlinkat(folder->get(), fresh.c_str(), AT_REMOVEDIR);
    ::unlinkat(folder->get(), attach_socket_name, AT_REMOVEDIR);
    // Made aside and moved into place, so that under the name there is always one that was listened to.
    if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::fchmodat(folder->get(), fresh.c_str(), 0600, 0) != 0 || ::listen(socket.get(), 128) != 0 ||
        ::renameat(folder->get(), fresh.c_str(), folder->get(), attach_socket_name) != 0)
        return sys::fail_sys(cat("listen on ", home, "/", attach_socket_name));
    return socket;
}

Result<sys::Fd> connect_to(const std::string& home) {
    auto folder = open_folder(home);
    if (!folder)
        return folder;
    const auto address = address_in(folder->get(), attach_socket_name);
    sys::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket)
        return sys::fail_sys("make a socket");
    // A crowd fills the owner's queue for an instant; nobody should wait for ever for a paused one.
    const timeval patience{2, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return fail(Errc::not_found, cat("nobody listens on ", home, "/", attach_socket_name), errno);
    return socket;
}

sys::Fd accept_own(int listener) {
    for (;;) {
        sys::Fd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!connection)
            return connection;
        ucred who{};
        socklen_t length = sizeof who;
        if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 &&
            (who.uid == ::geteuid() || who.uid == 0))
            return connection;
    }
}

bool send_packet(int connection, std::string_view text, const std::vector<int>& descriptors) {
    iovec part{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_descriptors)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
        std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
    }
    for (;;) {
        if (::sendmsg(connection, &message, MSG_NOSIGNAL) >= 0)
            return true;
        if (errno != EINTR)
            return false;
    }
}

std::optional<Packet> receive_packet(int connection, bool& gone) {
    std::array<char, most_text> text;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_descriptors)> control{};
    iovec part{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t n = 0;
    do
        n = ::recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        gone = n == 0 || errno != EAGAIN;
        return std::nullopt;
    }
    Packet packet;
    packet.text.assign(text.data(), static_cast<std::size_t>(n));
    packet.descriptors_lost = (message.msg_flags & MSG_CTRUNC) != 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
            packet.descriptors.emplace_back(fd);
        }
    }
    return packet;
}

std::string to_text(const AttachRequest& request) {
    return json::to_text(json::object{{"attach", attach_version},
                                      {"release", HOLDFAST_VERSION},
                                      {"protocol", request.protocol},
                                      {"agent", request.agent.substr(0, 1024)},
                                      {"viewer", request.viewer},
                                      {"stay", request.stay},
                                      {"port", request.port},
                                      {"maxLine", request.max_line},
                                      {"pid", static_cast<std::int64_t>(::getpid())}});
}

Result<AttachRequest> parse_attach(std::string_view text, const std::string& home) {
    const auto parsed = json::parse_object(text);
    const auto* object = parsed ? &*parsed : nullptr;
    const auto* said = object != nullptr ? object->if_contains("attach") : nullptr;
    if (said == nullptr || !said->is_int64())
        return fail(Errc::protocol, "this is no request to be served");
    if (*said != attach_version) {
        const auto release = json::text_field(*object, "release");
        return fail(Errc::unsupported,
                    cat("the owner of the memory at ", home, " (process ", ::getpid(),
                        ", Holdfast " HOLDFAST_VERSION ") speaks version ", attach_version,
                        " of the attach protocol, and this process (Holdfast ",
                        release.empty() ? std::string("of an unknown release") : release.substr(0, 64),
                        ") version ", said->get_int64(),
                        ". Use one release of Holdfast in all hosts; or end the owner, with its "
                        "clients: holdfast stop memory --slot-dir ",
                        home));
    }
    AttachRequest request;
    if (const auto* protocol = object->if_contains("protocol"); protocol != nullptr && protocol->is_string())
        request.protocol = protocol->get_string();
    if (const auto* agent = object->if_contains("agent"); agent != nullptr && agent->is_string())
        request.agent = agent->get_string();
    if (const auto* viewer = object->if_contains("viewer"); viewer != nullptr && viewer->is_bool())
        request.viewer = viewer->get_bool();
    if (const auto* stay = object->if_contains("stay"); stay != nullptr && stay->is_bool())
        request.stay = stay->get_bool();
    if (const auto* port = object->if_contains("port");
        port != nullptr && port->is_int64() && port->get_int64() > 0 && port->get_int64() <= 65535)
        request.port = static_cast<std::uint16_t>(port->get_int64());
    if (const auto* limit = object->if_contains("maxLine");
        limit != nullptr && limit->is_int64() && limit->get_int64() > 0)
        request.max_line = static_cast<std::size_t>(limit->get_int64());
    return request;
}

} // namespace holdfast::memory
