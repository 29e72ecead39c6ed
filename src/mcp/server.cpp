#include "mcp/server.hpp"

#include "base/text.hpp"
#include "json/json_fields.hpp"
#include "json/json_write.hpp"

#include <array>

namespace holdfast::mcp {

using base::cat;

namespace {

constexpr std::int64_t list_ttl_ms = 3'600'000; // the lists are part of the program

// Which methods there are depends on the era of the request, which stands in its parameters.
constexpr rpc::Method any_method{};

} // namespace

struct Server::Method : rpc::Method {
    Era era;
    void (*run)(Server& server, Request request);
};

struct Server::Methods {
    static constexpr rpc::MethodTable table{std::to_array<Method>({
        {{"initialize"},
         Era::legacy,
         [](Server& server, Request request) { server.initialize(std::move(request)); }},
        {{"ping"}, Era::legacy, [](Server&, Request request) { request.answer({}); }},
        {{"resources/list"},
         Era::both,
         [](Server& server, Request request) {
             answer_list(std::move(request), "resources", server.offer_.resources());
         }},
        {{"resources/read"},
         Era::both,
         [](Server& server, Request request) { server.offer_.read_resource(std::move(request)); }},
        {{"resources/templates/list"},
         Era::both,
         [](Server& server, Request request) {
             answer_list(std::move(request), "resourceTemplates", server.offer_.resource_templates());
         }},
        {{"server/discover"},
         Era::both,
         [](Server& server, Request request) { server.discover(std::move(request)); }},
        {{"subscriptions/listen"}, Era::modern, [](Server&, Request request) { listen(std::move(request)); }},
        {{"tools/call"},
         Era::both,
         [](Server& server, Request request) { server.offer_.call_tool(std::move(request)); }},
        {{"tools/list"},
         Era::both,
         [](Server& server, Request request) {
             answer_list(std::move(request), "tools", server.offer_.tools());
         }},
    })};
};

void Server::forget(const rpc::Connection* connection) {
    versions_.erase(connection);
    dispatcher_.forget(connection);
}

const rpc::Method* Server::find(const std::shared_ptr<rpc::Connection>& /*connection*/,
                                std::string_view /*name*/) {
    return &any_method;
}

std::string Server::refuse_batch(const std::shared_ptr<rpc::Connection>& connection) {
    const auto version = versions_.find(connection.get());
    if (version != versions_.end() && version->second == batch_version)
        return "";
    return cat("a batch (a list of requests in one line) is part of protocol version ", batch_version,
               " only, and ",
               version == versions_.end() ? std::string("no version was agreed on by initialize")
                                          : cat("version ", version->second, " was agreed on"),
               "; send one request a line");
}

void Server::serve(const rpc::Method& /*method*/, rpc::Request incoming) {
    if (incoming.notification)
        return; // nothing of ours depends on one
    Request request{.server = offer_.identity(),
                    .connection = std::move(incoming.connection),
                    .id = std::move(incoming.id),
                    .in_batch = incoming.in_batch,
                    .params = std::move(incoming.params),
                    .responder = std::move(incoming.responder)};
    if (const auto* meta = json::object_field(request.params, "_meta");
        meta != nullptr && meta->contains(version_key)) {
        request.modern = true;
        const auto version = json::text_field(*meta, version_key);
        if (version != modern_version)
            return request.refuse(unsupported_version, cat("protocol version ", version, " is not supported"),
                                  {{"supported", json::array{modern_version}}, {"requested", version}});
        if (json::object_field(*meta, capabilities_key) == nullptr)
            return request.refuse(rpc::invalid_params, cat("_meta must have ", capabilities_key));
    }
    const auto* found = Methods::table.find(incoming.method);
    if (found == nullptr || (found->era == Era::legacy && request.modern) ||
        (found->era == Era::modern && !request.modern))
        return request.refuse(rpc::method_not_found, cat("there is no method ", incoming.method));
    found->run(*this, std::move(request));
}

void Server::initialize(Request request) {
    if (request.in_batch)
        return request.refuse(rpc::invalid_request, "initialize is not part of a batch; send it alone");
    const auto* version = request.params.if_contains("protocolVersion");
    if (version == nullptr || !version->is_string())
        return request.refuse(rpc::invalid_params, "protocolVersion must be a string");
    const auto agreed = agreed_version(json::text_field(request.params, "protocolVersion"));
    versions_[request.connection.get()] = agreed;
    request.connection->remember(agreed);
    request.answer({{"protocolVersion", agreed},
                    {"capabilities", offer_.capabilities()},
                    {"serverInfo", server_info(offer_.identity())},
                    {"instructions", offer_.identity().instructions}});
}

void Server::discover(Request request) {
    request.modern = true; // only that era asks this
    request.answer_cacheable({{"supportedVersions", json::array{modern_version}},
                              {"capabilities", offer_.capabilities()},
                              {"instructions", offer_.identity().instructions}},
                             list_ttl_ms);
}

// Nothing here changes without being asked, so there is nothing to hear: the subscription is acknowledged
// with no topic, and stays open as the client wishes.
void Server::listen(Request request) {
    if (json::object_field(request.params, "notifications") == nullptr)
        return request.refuse(rpc::invalid_params,
                              "notifications must be an object that names what to hear of");
    const auto subscription = cat("{\"", subscription_key, "\":", request.id);
    request.connection->send(
        rpc::write_notification("notifications/subscriptions/acknowledged",
                                cat(R"({"_meta":)", subscription, R"(},"notifications":{}})")));
    request.answer_text(cat(R"({"resultType":"complete","_meta":)", subscription, ",\"", server_key,
                            "\":", json::to_text(server_info(request.server)), "}}"));
}

// Every list here is one page, so no cursor was ever given out.
void Server::answer_list(Request request, std::string_view name, json::array list) {
    if (const auto* cursor = request.params.if_contains("cursor"); cursor != nullptr && !cursor->is_null())
        return request.refuse(rpc::invalid_params,
                              "this cursor is not one of this server's: its lists have one page");
    request.answer_cacheable({{name, std::move(list)}}, list_ttl_ms);
}

} // namespace holdfast::mcp
