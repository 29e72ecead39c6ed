#include "rpc/dispatcher.hpp"

#include "base/text.hpp"
#include "rpc/message_ids.hpp"
#include "json/json_parse.hpp"

#include <utility>

namespace holdfast::rpc {

using base::cat;

// One message of a line.
struct Dispatcher::Incoming {
    const std::shared_ptr<Connection>& connection;
    std::string_view text;            // of the message
    std::string_view raw_id = "null"; // as written
    base::Moment now{};
    std::size_t line_bytes = 0;
    std::shared_ptr<Batch> batch = {}; // that it is part of
    std::size_t place = 0;             // of its answer in the batch
    bool in_batch = false;
    bool notification = false;
};

namespace {

// The answer goes to the client as a line of its own.
class LineRequest final : public PendingRequest {
public:
    LineRequest(const Dialect& dialect, std::shared_ptr<Connection> connection, std::string_view raw_id)
        : PendingRequest(dialect)
        , connection_(std::move(connection))
        , raw_id_(raw_id)
        , ticket_(connection_->begin(raw_id.size() > Connection::longest_id ? "null" : raw_id)) {}

private:
    void deliver(Reply reply) override { connection_->answer(ticket_, write_reply(raw_id_, reply)); }
    void drop() override { connection_->withdraw(ticket_); }

    std::shared_ptr<Connection> connection_;
    std::string raw_id_;
    Connection::Ticket ticket_;
};

bool is_answer(const json::object& message) {
    return !message.contains("method") && (message.contains("result") || message.contains("error"));
}

// Everything but notifications and answers. No message at all is answered with an error.
bool wants_answer(const json::value& message) {
    const auto* object = message.if_object();
    if (object == nullptr)
        return true;
    const auto* method = object->if_contains("method");
    return !is_answer(*object) && (object->contains("id") || method == nullptr || !method->is_string());
}

} // namespace

Dispatcher::Dispatcher(Handlers& handlers, const Dialect& dialect, ServerLimits limits)
    : handlers_(handlers)
    , dialect_(dialect)
    , limits_(limits)
    , in_flight_(std::make_shared<InFlight>()) {}

void Dispatcher::handle(const std::shared_ptr<Connection>& connection, std::string_view line,
                        base::Moment now) {
    Incoming incoming{.connection = connection, .text = line, .now = now, .line_bytes = line.size()};
    auto message = json::parse(line, {.depth = limits_.depth, .half_pairs = json::HalfPairs::replaced});
    if (!message) {
        // Too deep, and otherwise JSON: there may be an id, whose sender waits for an answer.
        if (message.error().code == Errc::overflow)
            incoming.raw_id = rpc::raw_id_of(line);
        if (incoming.raw_id != "null")
            return refuse(incoming, {Fault::too_deep, invalid_request, "the request is nested too deep"});
        return refuse(incoming, {Fault::not_json, parse_error, cat("not JSON: ", message.error().message)});
    }
    if (message->is_array())
        return handle_batch(connection, std::move(message->get_array()), line, now);
    incoming.raw_id = raw_id_of(line);
    handle_message(std::move(incoming), std::move(*message));
}

void Dispatcher::refuse_oversize(const std::shared_ptr<Connection>& connection, std::size_t limit) {
    refuse(
        {.connection = connection, .text = {}},
        {Fault::oversize, invalid_request, cat("the line is longer than ", limit, " bytes; it was skipped")});
}

void Dispatcher::handle_batch(const std::shared_ptr<Connection>& connection, json::array messages,
                              std::string_view line, base::Moment now) {
    const auto texts = elements_of(line);
    std::size_t requests = 0;
    std::string raw_ids;
    for (std::size_t at = 0; at < messages.size(); ++at)
        if (wants_answer(messages[at]))
            raw_ids += cat(requests++ == 0 ? '[' : ',', raw_id_of(texts.at(at)));
    raw_ids += ']';
    auto why = handlers_.refuse_batch(connection);
    if (why.empty() && messages.empty())
        why = "the batch is empty";
    // They are noted as one, so that no answer is lost with this process.
    if (why.empty() && raw_ids.size() > limits_.batch_ids)
        why = cat("the ids of a batch take at most ", limits_.batch_ids, " bytes together, these take ",
                  raw_ids.size(), "; send fewer requests at a time");
    if (!why.empty())
        return refuse({.connection = connection, .text = line}, {Fault::no_batch, invalid_request, why});
    std::shared_ptr<Batch> batch;
    if (requests > 0)
        batch = std::make_shared<Batch>(connection, connection->begin(raw_ids), requests);
    std::size_t place = 0;
    for (std::size_t at = 0; at < messages.size(); ++at) {
        const bool answered = wants_answer(messages[at]);
        handle_message({.connection = connection,
                        .text = texts.at(at),
                        .raw_id = raw_id_of(texts.at(at)),
                        .now = now,
                        .line_bytes = line.size(),
                        .batch = answered ? batch : nullptr,
                        .place = answered ? place++ : 0,
                        .in_batch = true},
                       std::move(messages[at]));
    }
}

void Dispatcher::handle_message(Incoming incoming, json::value message) {
    incoming.notification = !wants_answer(message);
    auto* object = message.if_object();
    if (object == nullptr)
        return refuse(incoming, {Fault::not_an_object, invalid_request, "a request is a JSON object"});
    if (is_answer(*object))
        return handlers_.take_answer(incoming.connection, std::move(*object));
    const auto* id = object->if_contains("id");
    const auto* method = object->if_contains("method");
    if (method == nullptr || !method->is_string() || (id != nullptr && !id->is_string() && !id->is_number()))
        return refuse(incoming, {Fault::not_a_request, invalid_request,
                                 "a request has a method, and an id that is a number or a string"});
    const auto* version = object->if_contains("jsonrpc");
    if (version == nullptr || *version != "2.0")
        return refuse(incoming, {Fault::wrong_version, invalid_request, "jsonrpc must be \"2.0\""});
    if (incoming.raw_id.size() > Connection::longest_id)
        return refuse(incoming, {Fault::id_too_long, invalid_request,
                                 cat("an id takes at most ", Connection::longest_id, " bytes")});
    const std::string_view name = method->get_string();
    if (incoming.notification && cancel(incoming, name))
        return;
    const auto* row = handlers_.find(incoming.connection, name);
    if (row == nullptr) {
        if (!incoming.notification)
            refuse(incoming, {Fault::unknown_method, method_not_found, cat("unknown method ", name)});
        return;
    }
    json::object params;
    if (auto* given = object->if_contains("params"); given != nullptr && !given->is_null()) {
        if (!given->is_object()) {
            if (!incoming.notification)
                refuse(incoming, {Fault::bad_params, invalid_params, "params must be an object"});
            return;
        }
        params = std::move(given->get_object());
    }
    serve(*row, std::move(incoming), std::move(params), name);
}

void Dispatcher::serve(const Method& method, Incoming incoming, json::object params, std::string_view name) {
    std::shared_ptr<PendingRequest> pending;
    if (incoming.notification)
        pending = std::make_shared<SilentRequest>(dialect_);
    else if (incoming.batch)
        pending = std::make_shared<BatchedRequest>(dialect_, std::move(incoming.batch), incoming.place,
                                                   std::string(incoming.raw_id));
    else
        pending = std::make_shared<LineRequest>(dialect_, incoming.connection, incoming.raw_id);
    const bool cancellable = method.cancellable && dialect_.cancel != CancelStyle::silent;
    if (!incoming.notification && (cancellable || method.within.count() > 0))
        in_flight_->add(pending, incoming.connection.get(), cancellable ? std::string(incoming.raw_id) : "",
                        method.within.count() > 0 ? base::after(incoming.now, method.within) : base::never);
    handlers_.serve(method, {.connection = incoming.connection,
                             .id = incoming.notification ? std::string() : std::string(incoming.raw_id),
                             .method = std::string(name),
                             .params = std::move(params),
                             .responder = Responder(std::move(pending)),
                             .notification = incoming.notification,
                             .in_batch = incoming.in_batch,
                             .line_bytes = incoming.line_bytes});
}

void Dispatcher::call(std::shared_ptr<Connection> connection, std::string_view method, json::object params,
                      LocalRequest::Done done) {
    const auto* row = handlers_.find(connection, method);
    auto pending = std::make_shared<LocalRequest>(dialect_, std::move(done));
    if (row == nullptr) {
        pending->refuse({Fault::unknown_method, method_not_found, cat("unknown method ", method)});
        return;
    }
    handlers_.serve(*row, {.connection = std::move(connection),
                           .method = std::string(method),
                           .params = std::move(params),
                           .responder = Responder(std::move(pending))});
}

// Answers a message that does not reach a handler. A dialect may have no words for it: then nothing is
// answered.
void Dispatcher::refuse(const Incoming& incoming, Complaint complaint) {
    complaint.notification = incoming.notification;
    if (complaint.notification && incoming.in_batch)
        return; // no place was kept for it
    auto error = dialect_.error(complaint);
    if (error.empty())
        return;
    const bool too_long = incoming.raw_id.size() > Connection::longest_id;
    const auto raw_id = too_long && dialect_.long_id_as_null ? std::string_view("null") : incoming.raw_id;
    if (incoming.batch)
        return incoming.batch->put(incoming.place, write_failure(raw_id, error));
    const auto ticket = incoming.connection->begin(too_long ? "null" : raw_id);
    incoming.connection->answer(ticket, write_failure(raw_id, error));
}

// Whether it was a cancellation. One of a request that is over, or cannot be cancelled, changes nothing.
bool Dispatcher::cancel(const Incoming& incoming, std::string_view name) {
    if (dialect_.cancel == CancelStyle::silent)
        return false;
    const auto cancellation = read_cancellation(name, classify(incoming.text).params);
    if (cancellation.style != dialect_.cancel)
        return false;
    if (const auto request = in_flight_->find(incoming.connection.get(), cancellation.id)) {
        const Complaint complaint{Fault::cancelled, request_cancelled, "cancelled by the client"};
        request->abandon(dialect_.cancel == CancelStyle::lsp ? &complaint : nullptr);
    }
    return true;
}

void Dispatcher::expire(base::Moment now) {
    const Complaint complaint{Fault::timed_out, server_error, "the request was not answered in time"};
    while (const auto request = in_flight_->take_due(now))
        request->abandon(&complaint);
}

} // namespace holdfast::rpc
