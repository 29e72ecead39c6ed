// A small HTTP/1.1 server on the loopback addresses: one thread, bounded in everything a client can make it
// hold.
#pragma once

#include "holdfast/result.hpp"
#include "memory/viewer/http_request.hpp"
#include "sys/fd.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::memory {

// What comes after a piece of a body. Broken: what should follow cannot be had. The connection is closed
// without the end that the client waits for, so it knows that it has not got the whole.
enum class AfterPiece : std::uint8_t { more, end, broken };

// A body that comes in pieces. `more` is called when there is room for the next piece, on the server's
// thread; it answers through the sink, at once or later, from any thread. Destroyed when the client is gone.
class BodyPieces {
public:
    using Sink = std::function<void(std::string piece, AfterPiece after)>; // the last may be empty
    BodyPieces() = default;
    BodyPieces(const BodyPieces&) = delete;
    BodyPieces& operator=(const BodyPieces&) = delete;
    virtual ~BodyPieces() = default;
    virtual void more(Sink sink) = 0;
};

struct HttpResponse {
    int status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::string more_headers;           // whole lines, each with "\r\n"
    std::unique_ptr<BodyPieces> pieces; // instead of a body
};

using Respond = std::move_only_function<void(HttpResponse)>; // exactly once, from any thread
// On the server's thread. True: the request has shown that it comes from whom this server is for.
using OnRequest = std::function<bool(HttpRequest, Respond)>;

struct HttpServerLimits {
    HttpLimits request;
    // When all are taken, a further one takes the place of the oldest that has not shown such a request.
    std::size_t connections = 64;
    std::int64_t request_ms = 10'000; // from its first byte to its last
    std::int64_t idle_ms = 75'000;    // a connection without a request
    std::int64_t stalled_ms = 30'000; // an answer that nobody reads
};

class HttpServer {
public:
    // Listens on 127.0.0.1 and, where there is IPv6, on the same port of ::1: browsers try both for a name
    // such as localhost, and what one of two programs answers must not depend on which they try first. `port`
    // or, when one of its two is taken, the next free one within 64, else any.
    static Result<std::unique_ptr<HttpServer>> start(std::uint16_t port, OnRequest on_request,
                                                     HttpServerLimits limits = {});
    // Ends its thread and closes every connection. Answers that come later go nowhere.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    struct Letter { // from any thread to the server's
        std::uint64_t connection = 0;
        std::unique_ptr<HttpResponse> response; // or a piece
        std::string piece;
        AfterPiece after = AfterPiece::more;
    };
    struct Mailbox {
        std::mutex mutex;
        std::vector<Letter> letters;
        sys::Fd bell;
        bool closed = false;
        void post(Letter letter);
    };
    struct Connection {
        explicit Connection(HttpLimits limits)
            : reader(limits) {}
        std::uint64_t id = 0;
        sys::Fd socket;
        HttpReader reader;
        std::string out;
        std::size_t sent = 0;
        std::unique_ptr<BodyPieces> pieces;
        bool known = false;     // has shown a request from whom this server is for
        bool answering = false; // a request is being worked on
        bool asked = false;     // for the next piece
        bool closing = false;   // after what is in `out`
        bool head_only = false;
        bool keep_alive = true;
        bool dead = false;
        std::int64_t since_ms = 0;    // of the present state: idle, reading a request
        std::int64_t progress_ms = 0; // when the client last took something
    };

    HttpServer(OnRequest on_request, HttpServerLimits limits);
    void loop();
    void accept_some(const sys::Fd& listener, std::int64_t now);
    bool listen_on(std::uint16_t port);
    bool make_room();
    void receive(Connection& connection, std::int64_t now);
    void advance(Connection& connection, std::int64_t now);
    void flush(Connection& connection, std::int64_t now);
    void respond(Connection& connection, HttpResponse response);
    void add_piece(Connection& connection, std::string_view piece, AfterPiece after);
    void read_mail(std::int64_t now);
    void expire(Connection& connection, std::int64_t now) const;

    OnRequest on_request_;
    HttpServerLimits limits_;
    sys::Fd listener_;
    sys::Fd listener_6_; // not valid where there is no IPv6
    std::uint16_t port_ = 0;
    std::shared_ptr<Mailbox> mailbox_;
    std::list<Connection> connections_;
    std::uint64_t last_id_ = 0;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

} // namespace holdfast::memory
