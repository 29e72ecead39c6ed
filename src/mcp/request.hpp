// One MCP request on its way to its answer, in the form of its era.
#pragma once

#include "mcp/protocol.hpp"
#include "rpc/connection.hpp"
#include "rpc/responder.hpp"

#include "json/json.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::mcp {

// A server as it shows itself. A constant of the program.
struct Identity {
    std::string_view name;
    std::string_view title;
    std::string_view version;
    std::string_view instructions; // for the model
};
json::object server_info(const Identity& identity);

struct Request {
    const Identity& server;
    std::shared_ptr<rpc::Connection> connection;
    std::string id; // as JSON text, the way it was written
    bool modern = false;
    bool in_batch = false;
    json::object params;
    rpc::Responder responder;

    // The first answer counts.
    void answer(json::object result);
    void answer_text(std::string result); // JSON, sent as it is
    // A result that may be kept for a while (modern era): lists, and what is read.
    void answer_cacheable(json::object result, std::int64_t ttl_ms);
    void refuse(int code, std::string_view message, json::object data = {});
    // The result of a tool: one text for the model. What a tool cannot do is a result, too.
    void say(std::string_view text) { answer(text_result(text)); }
    void trouble(std::string_view text);

private:
    static json::object text_result(std::string_view text);
};

} // namespace holdfast::mcp
