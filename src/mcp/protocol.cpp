#include "mcp/protocol.hpp"

#include <algorithm>

namespace holdfast::mcp {

std::string error_of(const rpc::Complaint& complaint) {
    using rpc::Fault;
    if (complaint.notification)
        return "";
    switch (complaint.fault) {
    case Fault::not_an_object:
    case Fault::not_a_request:
    case Fault::wrong_version:
        return rpc::write_error_object(
            complaint.code, "a request is one JSON object with jsonrpc \"2.0\", a method, and an id "
                            "that is a string or a number");
    case Fault::lost:
        return rpc::write_error_object(try_again, complaint.message, R"({"retryable":true})");
    case Fault::given_up:
    case Fault::timed_out:
        return rpc::write_error_object(rpc::internal_error, complaint.message);
    default:
        return rpc::write_error_object(complaint.code, complaint.message);
    }
}

std::string_view agreed_version(std::string_view asked) noexcept {
    const auto* known = std::ranges::find(legacy_versions, asked);
    return known != legacy_versions.end() ? *known : legacy_versions.front();
}

} // namespace holdfast::mcp
