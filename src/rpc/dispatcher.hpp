// The server side of JSON-RPC 2.0: lines in, answers out. It reads the envelope of each message and its id as
// it was written, refuses what is none, finds the method in the server's table, and hands the request to its
// handler with a responder that answers exactly once.
//
// No transport, no thread and no clock: it is given lines and a connection to answer on, and the time.
// handle(), refuse_oversize(), forget() and expire() are called on one thread; responders are used from any.
//
// A proxy that forwards messages unread does not use it: see classify() in message.hpp.
#pragma once

#include "rpc/batch.hpp"
#include "rpc/connection.hpp"
#include "rpc/in_flight.hpp"
#include "rpc/method_table.hpp"
#include "rpc/responder.hpp"

#include "base/moment.hpp"
#include "json/json.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::rpc {

// One request or notification, on its way to its handler.
struct Request {
    std::shared_ptr<Connection> connection;
    std::string id; // as JSON text, the way it was written; empty: a notification, or a call from inside
    std::string method;
    json::object params;
    Responder responder;
    bool notification = false;
    bool in_batch = false;
    std::size_t line_bytes = 0; // of the line it came in
};

// Implemented by the server: its methods, and the rest of what a client may send.
class Handlers {
public:
    Handlers() = default;
    Handlers(const Handlers&) = delete;
    Handlers& operator=(const Handlers&) = delete;
    virtual ~Handlers() = default;

    // The row of that method; null: there is none.
    virtual const Method* find(const std::shared_ptr<Connection>& connection, std::string_view name) = 0;
    // `method` is what find() gave.
    virtual void serve(const Method& method, Request request) = 0;
    // An answer (as the whole message) to a request of the server's own.
    virtual void take_answer(const std::shared_ptr<Connection>& /*connection*/, json::object /*message*/) {}
    // Why this client may not send a list of requests; empty: it may.
    virtual std::string refuse_batch(const std::shared_ptr<Connection>& /*connection*/) {
        return "a request is a JSON object";
    }
};

struct ServerLimits {
    std::size_t depth = 200;                        // of a message
    std::size_t batch_ids = Connection::longest_id; // bytes of the ids of a batch, as a list
};

class Dispatcher {
public:
    // `handlers` outlives it; `dialect` outlives every responder.
    explicit Dispatcher(Handlers& handlers, const Dialect& dialect = plain_dialect, ServerLimits limits = {});

    // One line without its newline, never blank.
    void handle(const std::shared_ptr<Connection>& connection, std::string_view line, base::Moment now = {});
    // A line longer than this came; it is being skipped.
    void refuse_oversize(const std::shared_ptr<Connection>& connection, std::size_t limit);
    // A call from inside the process. `done` gets the answer as it was made, from any thread, perhaps before
    // this returns.
    void call(std::shared_ptr<Connection> connection, std::string_view method, json::object params,
              LocalRequest::Done done);
    // The answer, as one line, to a request (`raw_id` as it was begun) whose process ended.
    [[nodiscard]] std::string lost(std::string_view raw_id) const { return lost_line(dialect_, raw_id); }
    // The client is gone.
    void forget(const Connection* connection) { in_flight_->forget(connection); }

    // Answers what is overdue.
    void expire(base::Moment now);
    [[nodiscard]] base::Moment next_deadline() { return in_flight_->next_deadline(); }

private:
    struct Incoming; // one message
    void handle_message(Incoming incoming, json::value message);
    void handle_batch(const std::shared_ptr<Connection>& connection, json::array messages,
                      std::string_view line, base::Moment now);
    void serve(const Method& method, Incoming incoming, json::object params, std::string_view name);
    void refuse(const Incoming& incoming, Complaint complaint);
    bool cancel(const Incoming& incoming, std::string_view name);

    Handlers& handlers_;
    const Dialect& dialect_;
    ServerLimits limits_;
    std::shared_ptr<InFlight> in_flight_;
};

} // namespace holdfast::rpc
