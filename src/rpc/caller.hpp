// The client side for a program that asks questions and waits for the answers: values in, values out. No I/O:
// whoever drives it writes output(), reads, and hands over what came.
#pragma once

#include "rpc/peer.hpp"

#include "json/json.hpp"

#include <map>
#include <string>
#include <string_view>

namespace holdfast::rpc {

class Caller final : private PeerEvents {
public:
    // The reply of the other side: a result, or an error object.
    struct Answer {
        bool failed = false;
        json::value body;
        // The error object; empty when it is a result, or no object.
        [[nodiscard]] json::object error() const;
    };

    explicit Caller(std::size_t max_message = default_max_message);

    // Its number. Errors: invalid_argument (the method or a parameter is not UTF-8), overflow.
    Result<CallId> ask(std::string_view method, const json::object& params);
    // The answer to that call, once; nothing: it has not come. An error: there is none (overflow: it was too
    // large; protocol: it cannot be read).
    std::optional<Result<Answer>> take(CallId call);
    // It is not waited for any more.
    void drop(CallId call);

    [[nodiscard]] std::string_view output() { return peer_.output(); }
    void consume(std::size_t written) { peer_.consume(written); }
    void receive(std::string_view bytes) { peer_.receive(bytes, {}); }

private:
    void on_answer(CallId call, std::uint64_t token, const rpc::Answer& answer) override;
    void on_notification(RegistrationId, HoldTag, std::string_view, std::string_view) override {}
    void on_request(RegistrationId, HoldTag, RequestId, std::string_view, std::string_view) override {}
    void on_request_gone(HoldTag, RequestId) override {}
    void on_noise(std::string_view, std::string_view) override {}
    // It is taken for the answer to the oldest open call: no other will come to that one.
    void on_unaddressed_error(std::string_view error) override;

    Registrations registrations_;
    Peer peer_;
    std::map<CallId, std::optional<Result<Answer>>> calls_;
};

} // namespace holdfast::rpc
