#include "memory/viewer/http_server.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "sys/errors.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr int ports_to_try = 64;
constexpr std::size_t enough_waiting = 256 * 1024; // bytes unsent before a body is asked for more

std::string_view reason_of(int status) {
    switch (status) {
    case 200:
        return "OK";
    case 204:
        return "No Content";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    case 415:
        return "Unsupported Media Type";
    case 417:
        return "Expectation Failed";
    case 421:
        return "Misdirected Request";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Error";
    }
}

// No page of another site may frame, read or script these, and they load nothing from anywhere else.
constexpr std::string_view safety_headers = "Content-Security-Policy: default-src 'none'; script-src 'self'; "
                                            "style-src 'self'; img-src 'self'; connect-src 'self'; "
                                            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
                                            "X-Content-Type-Options: nosniff\r\n"
                                            "X-Frame-Options: DENY\r\n"
                                            "Referrer-Policy: no-referrer\r\n"
                                            "Cross-Origin-Opener-Policy: same-origin\r\n"
                                            "Cross-Origin-Resource-Policy: same-origin\r\n"
                                            "Cache-Control: no-store\r\n";

sys::Fd listen_at(const sockaddr* address, socklen_t length) {
    sys::Fd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket)
        return {};
    const int on = 1;
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket.get(), address, length) != 0 || ::listen(socket.get(), 64) != 0)
        return {};
    return socket;
}

} // namespace

HttpServer::HttpServer(OnRequest on_request, HttpServerLimits limits)
    : on_request_(std::move(on_request))
    , limits_(limits)
    , mailbox_(std::make_shared<Mailbox>()) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::uint16_t port, OnRequest on_request,
                                                      HttpServerLimits limits) {
    std::unique_ptr<HttpServer> server(new HttpServer(std::move(on_request), limits));
    bool listens = false;
    for (int offset = 0; port != 0 && !listens && offset < ports_to_try && port + offset < 65536; ++offset)
        listens = server->listen_on(static_cast<std::uint16_t>(port + offset));
    for (int attempt = 0; !listens && attempt < ports_to_try; ++attempt)
        listens = server->listen_on(0);
    if (!listens)
        return sys::fail_sys("listen on 127.0.0.1");
    server->mailbox_->bell = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!server->mailbox_->bell)
        return sys::fail_sys("eventfd");
    server->thread_ = std::thread([raw = server.get()] { raw->loop(); });
    return server;
}

// On both loopback addresses, or on neither. 0: any port that is free on both.
bool HttpServer::listen_on(std::uint16_t port) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(port);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto listener = listen_at(reinterpret_cast<const sockaddr*>(&here), sizeof here);
    socklen_t length = sizeof here;
    if (!listener || ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&here), &length) != 0)
        return false;
    sockaddr_in6 here_6{};
    here_6.sin6_family = AF_INET6;
    here_6.sin6_port = here.sin_port;
    here_6.sin6_addr = in6addr_loopback;
    listener_6_ = listen_at(reinterpret_cast<const sockaddr*>(&here_6), sizeof here_6);
    if (!listener_6_ && errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT)
        return false;
    listener_ = std::move(listener);
    port_ = ntohs(here.sin_port);
    return true;
}

HttpServer::~HttpServer() {
    stopping_ = true;
    {
        const std::lock_guard lock(mailbox_->mutex);
        mailbox_->closed = true;
        mailbox_->letters.clear();
        const std::uint64_t one = 1;
        (void)!::write(mailbox_->bell.get(), &one, sizeof one);
    }
    if (thread_.joinable())
        thread_.join();
}

void HttpServer::Mailbox::post(Letter letter) {
    const std::lock_guard lock(mutex);
    if (closed)
        return;
    letters.push_back(std::move(letter));
    const std::uint64_t one = 1;
    (void)!::write(bell.get(), &one, sizeof one);
}

void HttpServer::loop() {
    std::vector<pollfd> polled;
    while (!stopping_) {
        polled.clear();
        polled.push_back({mailbox_->bell.get(), POLLIN, 0});
        polled.push_back({listener_.get(), POLLIN, 0});
        polled.push_back({listener_6_.get(), POLLIN, 0}); // -1 where there is none, which poll passes over
        for (const auto& connection : connections_) {
            const bool reads = !connection.answering && !connection.closing;
            polled.push_back(
                {connection.socket.get(),
                 static_cast<short>((reads ? POLLIN : POLLRDHUP) | (connection.out.empty() ? 0 : POLLOUT)),
                 0});
        }
        // Without connections nothing runs out: the thread sleeps until something comes.
        if (::poll(polled.data(), polled.size(), connections_.empty() ? -1 : 1000) < 0 && errno != EINTR)
            return;
        const auto now = monotonic_ms();
        if (polled[0].revents != 0)
            read_mail(now);
        std::size_t at = 3;
        for (auto& connection : connections_) {
            if (at == polled.size())
                break;
            const auto events = polled[at++].revents;
            if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0)
                connection.dead = true;
            if ((events & POLLRDHUP) != 0 && (events & POLLIN) == 0)
                connection.dead = true; // nobody waits for the answer any more
            if (!connection.dead && (events & POLLOUT) != 0)
                flush(connection, now);
            if (!connection.dead && (events & POLLIN) != 0)
                receive(connection, now);
            expire(connection, now);
        }
        std::erase_if(connections_, [](const Connection& connection) { return connection.dead; });
        if (polled[1].revents != 0)
            accept_some(listener_, now);
        if (polled[2].revents != 0)
            accept_some(listener_6_, now);
    }
}

// The clients that this server is for must get in although others hold connections and say nothing.
bool HttpServer::make_room() {
    if (connections_.size() < limits_.connections)
        return true;
    const auto oldest = std::ranges::find(connections_, false, &Connection::known);
    if (oldest == connections_.end())
        return false;
    connections_.erase(oldest);
    return true;
}

void HttpServer::accept_some(const sys::Fd& listener, std::int64_t now) {
    for (;;) {
        sys::Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket)
            return;
        if (!make_room()) {
            constexpr std::string_view busy =
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            (void)!::send(socket.get(), busy.data(), busy.size(), MSG_NOSIGNAL);
            continue;
        }
        const int on = 1;
        (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        auto& connection = connections_.emplace_back(limits_.request);
        connection.id = ++last_id_;
        connection.socket = std::move(socket);
        connection.since_ms = connection.progress_ms = now;
    }
}

void HttpServer::receive(Connection& connection, std::int64_t now) {
    std::array<char, 16 * 1024> chunk;
    const auto n = ::recv(connection.socket.get(), chunk.data(), chunk.size(), 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        connection.dead = true;
        return;
    }
    if (n < 0)
        return;
    if (connection.reader.idle())
        connection.since_ms = now; // a request begins
    connection.reader.feed({chunk.data(), static_cast<std::size_t>(n)});
    advance(connection, now);
}

// Takes the next request when there is one and the last was answered.
void HttpServer::advance(Connection& connection, std::int64_t now) {
    if (connection.answering || connection.closing || connection.dead)
        return;
    auto request = connection.reader.next();
    if (const int refusal = connection.reader.refusal(); refusal != 0) {
        connection.keep_alive = false;
        connection.answering = true;
        respond(connection, {.status = refusal,
                             .content_type = "text/plain",
                             .body = std::string(reason_of(refusal)) + "\n"});
        return flush(connection, now);
    }
    if (!request)
        return;
    connection.answering = true;
    connection.keep_alive = request->keep_alive;
    connection.head_only = request->head_only = request->method == "HEAD";
    if (connection.head_only)
        request->method = "GET";
    connection.known |=
        on_request_(std::move(*request), [mailbox = mailbox_, id = connection.id](HttpResponse response) {
            mailbox->post({id, std::make_unique<HttpResponse>(std::move(response)), {}, {}});
        });
}

void HttpServer::respond(Connection& connection, HttpResponse response) {
    auto& out = connection.out;
    out += cat("HTTP/1.1 ", response.status, ' ', reason_of(response.status),
               "\r\nContent-Type: ", response.content_type, "\r\n", safety_headers, response.more_headers,
               connection.keep_alive ? "" : "Connection: close\r\n");
    if (response.pieces && !connection.head_only) {
        out += "Transfer-Encoding: chunked\r\n\r\n";
        connection.pieces = std::move(response.pieces);
        connection.asked = false;
        return;
    }
    out += cat("Content-Length: ", response.body.size(), "\r\n\r\n");
    if (!connection.head_only)
        out += response.body;
    connection.answering = false;
    connection.closing = !connection.keep_alive;
}

void HttpServer::add_piece(Connection& connection, std::string_view piece, AfterPiece after) {
    if (!piece.empty()) {
        std::array<char, 20> size{};
        const int length = std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
        connection.out += cat(std::string_view(size.data(), static_cast<std::size_t>(length)), piece, "\r\n");
    }
    connection.asked = false;
    if (after == AfterPiece::more)
        return;
    if (after == AfterPiece::end)
        connection.out += "0\r\n\r\n";
    connection.pieces.reset();
    connection.answering = false;
    connection.closing = after == AfterPiece::broken || !connection.keep_alive;
}

void HttpServer::read_mail(std::int64_t now) {
    std::uint64_t count = 0;
    (void)!::read(mailbox_->bell.get(), &count, sizeof count);
    std::vector<Letter> letters;
    {
        const std::lock_guard lock(mailbox_->mutex);
        letters.swap(mailbox_->letters);
    }
    for (auto& letter : letters) {
        const auto found = std::ranges::find(connections_, letter.connection, &Connection::id);
        if (found == connections_.end() || found->dead)
            continue;
        if (found->out.empty())
            found->progress_ms = now;
        if (letter.response)
            respond(*found, std::move(*letter.response));
        else
            add_piece(*found, letter.piece, letter.after);
        flush(*found, now);
    }
}

void HttpServer::flush(Connection& connection, std::int64_t now) {
    while (connection.sent < connection.out.size()) {
        const auto n = ::send(connection.socket.get(), connection.out.data() + connection.sent,
                              connection.out.size() - connection.sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            connection.dead = true;
        if (n <= 0)
            break;
        connection.sent += static_cast<std::size_t>(n);
        connection.progress_ms = now;
    }
    if (connection.dead)
        return;
    if (connection.sent == connection.out.size()) {
        if (connection.out.capacity() > enough_waiting)
            std::string().swap(connection.out);
        connection.out.clear();
        connection.sent = 0;
        if (connection.closing) {
            connection.dead = true;
            return;
        }
    }
    if (connection.pieces && !connection.asked && connection.out.size() - connection.sent < enough_waiting) {
        connection.asked = true;
        connection.pieces->more(
            [mailbox = mailbox_, id = connection.id](std::string piece, AfterPiece after) {
                mailbox->post({id, nullptr, std::move(piece), after});
            });
    }
    if (!connection.answering) {
        connection.since_ms = now;
        advance(connection, now); // the next request may have come already
    }
}

void HttpServer::expire(Connection& connection, std::int64_t now) const {
    if (!connection.out.empty()) {
        if (now - connection.progress_ms > limits_.stalled_ms)
            connection.dead = true;
    } else if (!connection.answering) {
        if (now - connection.since_ms > (connection.reader.idle() ? limits_.idle_ms : limits_.request_ms))
            connection.dead = true;
    }
}

} // namespace holdfast::memory
