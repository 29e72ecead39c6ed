// An MCP server for clients of both eras, any number of them at once, on the JSON-RPC dispatcher. Its tools
// and resources are given to it.
//
// The era of a request is in the request itself (a `_meta` with the protocol version is the modern one), so a
// client is served the same by any process that goes on with it. All that is kept of a client is the version
// that it agreed on in the legacy era, which decides whether it may send batches. It is kept with the client
// (Connection::remember), and the next process is told it (resume).
//
// No transport and no thread: handle(), refuse_oversize(), resume() and forget() are called on one thread.
#pragma once

#include "mcp/request.hpp"
#include "rpc/dispatcher.hpp"

#include <map>

namespace holdfast::mcp {

// Answers come from any thread.
class Offer {
public:
    Offer() = default;
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;
    virtual ~Offer() = default;

    [[nodiscard]] virtual const Identity& identity() const = 0;
    [[nodiscard]] virtual json::object capabilities() const = 0;
    // Each list is part of the program: one page, that may be kept for an hour.
    [[nodiscard]] virtual json::array tools() const = 0;
    [[nodiscard]] virtual json::array resources() const = 0;
    [[nodiscard]] virtual json::array resource_templates() const = 0;
    virtual void call_tool(Request request) = 0;
    virtual void read_resource(Request request) = 0;
};

class Server final : private rpc::Handlers {
public:
    // `offer` outlives it.
    explicit Server(Offer& offer, const rpc::Dialect& dialect = plain_dialect)
        : offer_(offer)
        , dispatcher_(*this, dialect) {}

    void handle(const std::shared_ptr<rpc::Connection>& connection, std::string_view line) {
        dispatcher_.handle(connection, line);
    }
    void refuse_oversize(const std::shared_ptr<rpc::Connection>& connection, std::size_t limit) {
        dispatcher_.refuse_oversize(connection, limit);
    }
    // A client that another process served goes on here. `state` is what was remembered of it.
    void resume(const rpc::Connection* connection, std::string_view state) { versions_[connection] = state; }
    void forget(const rpc::Connection* connection);

private:
    struct Method;
    struct Methods;
    const rpc::Method* find(const std::shared_ptr<rpc::Connection>& connection,
                            std::string_view name) override;
    void serve(const rpc::Method& method, rpc::Request request) override;
    std::string refuse_batch(const std::shared_ptr<rpc::Connection>& connection) override;

    void initialize(Request request);
    void discover(Request request);
    static void listen(Request request);
    static void answer_list(Request request, std::string_view name, json::array list);

    Offer& offer_;
    rpc::Dispatcher dispatcher_;
    std::map<const rpc::Connection*, std::string> versions_; // agreed on by initialize
};

} // namespace holdfast::mcp
