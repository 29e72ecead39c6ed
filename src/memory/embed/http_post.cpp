#include "memory/embed/http_post.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "sys/fd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr int slice_ms = 100;

// False when the deadline came first, or it was given up.
bool wait_for(int fd, short events, std::int64_t deadline_us, const std::atomic<bool>& give_up) {
    for (;;) {
        const auto left = deadline_us - monotonic_us();
        if (left <= 0 || give_up)
            return false;
        pollfd one{fd, events, 0};
        const int n =
            ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>((left + 999) / 1000, slice_ms)));
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

// Chunks put together; nothing when they are broken.
Result<std::string> join_chunks(std::string_view body) {
    std::string out;
    for (;;) {
        const auto end = body.find("\r\n");
        std::size_t size = 0;
        if (end == body.npos || std::from_chars(body.data(), body.data() + end, size, 16).ec != std::errc() ||
            end + 2 + size > body.size())
            return fail(Errc::protocol, "the answer's chunks are broken");
        if (size == 0)
            return out;
        out += body.substr(end + 2, size);
        body.remove_prefix(std::min(body.size(), end + 2 + size + 2));
    }
}

} // namespace

Result<HttpTarget> parse_http(std::string_view url) {
    constexpr std::string_view scheme = "http://";
    if (!url.starts_with(scheme))
        return fail(Errc::invalid_argument, cat("\"", url, "\" does not begin with http://"));
    url.remove_prefix(scheme.size());
    HttpTarget target;
    const auto slash = std::min(url.find('/'), url.size());
    auto authority = url.substr(0, slash);
    if (slash < url.size())
        target.path = url.substr(slash);
    if (authority.starts_with('[')) {
        const auto close = authority.find(']');
        target.host = authority.substr(1, close == authority.npos ? authority.npos : close - 1);
        authority.remove_prefix(std::min(authority.size(), close == authority.npos ? close : close + 1));
    } else {
        const auto colon = std::min(authority.find(':'), authority.size());
        target.host = authority.substr(0, colon);
        authority.remove_prefix(colon);
    }
    if (target.host == "localhost")
        target.host = "127.0.0.1";
    in6_addr any{};
    if (::inet_pton(AF_INET, target.host.c_str(), &any) != 1 &&
        ::inet_pton(AF_INET6, target.host.c_str(), &any) != 1)
        return fail(Errc::invalid_argument,
                    cat("\"", target.host, "\" is not localhost and not a numeric address"));
    if (authority.starts_with(':')) {
        authority.remove_prefix(1);
        const auto [end, failed] =
            std::from_chars(authority.data(), authority.data() + authority.size(), target.port);
        if (failed != std::errc() || end != authority.data() + authority.size() || target.port == 0)
            return fail(Errc::invalid_argument, cat("\"", authority, "\" is not a port"));
    }
    return target;
}

Result<std::string> http_post(const HttpTarget& target, const std::string& bearer, std::string_view body,
                              std::size_t most, std::int64_t deadline_us, const std::atomic<bool>& give_up) {
    const auto late = [&] {
        return fail(Errc::timed_out, cat(target.host, ":", target.port, " did not answer in time"));
    };
    const auto broken = [&](const char* what) {
        return fail(Errc::io, cat(what, " ", target.host, ":", target.port, ": ", std::strerror(errno)),
                    errno);
    };
    sockaddr_in six_not{};
    sockaddr_in6 six{};
    const bool v6 = target.host.find(':') != target.host.npos;
    six_not.sin_family = AF_INET;
    six_not.sin_port = htons(target.port);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(target.port);
    if (v6)
        ::inet_pton(AF_INET6, target.host.c_str(), &six.sin6_addr);
    else
        ::inet_pton(AF_INET, target.host.c_str(), &six_not.sin_addr);
    const sys::Fd socket(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket)
        return broken("make a socket for");
    const auto* address =
        v6 ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&six_not);
    if (::connect(socket.get(), address, v6 ? sizeof six : sizeof six_not) != 0) {
        if (errno != EINPROGRESS)
            return broken("connect to");
        if (!wait_for(socket.get(), POLLOUT, deadline_us, give_up))
            return late();
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        errno = error;
        if (error != 0)
            return broken("connect to");
    }
    std::string request = cat(
        "POST ", target.path, " HTTP/1.1\r\nHost: ", target.host, ":", target.port,
        "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n");
    if (!bearer.empty())
        request += cat("Authorization: Bearer ", bearer, "\r\n");
    request += "\r\n";
    request += body;
    for (std::size_t done = 0; done < request.size();) {
        const auto n = ::send(socket.get(), request.data() + done, request.size() - done, MSG_NOSIGNAL);
        if (n > 0)
            done += static_cast<std::size_t>(n);
        else if (errno != EAGAIN && errno != EINTR)
            return broken("send to");
        else if (!wait_for(socket.get(), POLLOUT, deadline_us, give_up))
            return late();
    }
    std::string answer;
    std::size_t head = std::string::npos;
    std::size_t length = std::string::npos;
    bool chunked = false;
    char chunk[16 * 1024];
    for (;;) {
        // A server may leave the connection open although it was asked not to.
        if (head != std::string::npos &&
            (chunked ? std::string_view(answer).substr(head - 2).ends_with("\r\n0\r\n\r\n")
                     : length != std::string::npos && answer.size() >= head + length))
            break;
        if (!wait_for(socket.get(), POLLIN, deadline_us, give_up))
            return late();
        const auto n = ::recv(socket.get(), chunk, sizeof chunk, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n < 0)
            return broken("read from");
        if (n == 0)
            break;
        answer.append(chunk, static_cast<std::size_t>(n));
        if (answer.size() > most ||
            (head != std::string::npos && length != std::string::npos && length > most))
            return fail(Errc::protocol, cat(target.host, ":", target.port, " gave too long an answer"));
        if (head == std::string::npos && (head = answer.find("\r\n\r\n")) != std::string::npos) {
            head += 4;
            const auto headers = lower(std::string_view(answer).substr(0, head));
            if (const auto at = headers.find("\r\ntransfer-encoding:"); at != headers.npos)
                chunked = headers.substr(at, headers.find('\r', at + 2) - at).find("chunked") != headers.npos;
            if (const auto at = headers.find("\r\ncontent-length:"); at != headers.npos)
                length = std::strtoull(headers.c_str() + at + 17, nullptr, 10);
        }
    }
    if (head == std::string::npos || !answer.starts_with("HTTP/1."))
        return fail(Errc::protocol, cat(target.host, ":", target.port, " does not speak HTTP"));
    if (std::string_view(answer).substr(9, 3) != "200")
        return fail(Errc::protocol,
                    cat(target.host, ":", target.port, " answered ", std::string_view(answer).substr(9, 3)));
    if (!chunked && length != std::string::npos && answer.size() < head + length)
        return fail(Errc::protocol,
                    cat(target.host, ":", target.port, " hung up in the middle of its answer"));
    if (chunked)
        return join_chunks(std::string_view(answer).substr(head));
    return answer.substr(head);
}

} // namespace holdfast::memory
