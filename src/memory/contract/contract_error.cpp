// The errors of the contract, and the words for what is wrong with a request itself.
#include "memory/contract/contract_error.hpp"

#include "memory/contract/contract.hpp"
#include "json/json_write.hpp"

namespace holdfast::memory {

json::object contract_error(int code, std::string_view name, std::string_view message, json::object details) {
    json::object data{{"name", "MemoryError"}, {"code", name}, {"message", message}};
    if (!details.empty())
        data["details"] = std::move(details);
    return {{"code", code}, {"message", message}, {"data", std::move(data)}};
}

json::object contract_error(const Error& error) {
    switch (error.code) {
    case Errc::invalid_argument:
        return contract_error(-32602, "invalid_argument", error.message);
    case Errc::not_found:
        return contract_error(-32000, "not_found", error.message);
    case Errc::unsupported:
        return contract_error(-32000, "unsupported", error.message);
    case Errc::closed:
        return contract_error(-32000, "not_initialized", error.message);
    case Errc::superseded:
        return contract_error(-32000, "transport_closed", error.message, {{"retryable", true}});
    case Errc::no_space:
        return contract_error(-32000, "internal", error.message,
                              {{"reason", "disk_full"}, {"retryable", true}});
    default:
        return contract_error(-32000, "internal", error.message, {{"reason", name_of(error.code)}});
    }
}

std::string contract_fault(const rpc::Complaint& complaint) {
    using rpc::Fault;
    std::string_view name = "protocol_error";
    std::string_view message = complaint.message;
    json::object details;
    switch (complaint.fault) {
    case Fault::unknown_method:
        name = "unknown_method";
        break;
    case Fault::bad_params:
        name = "invalid_argument";
        break;
    case Fault::lost:
        name = "transport_closed";
        message =
            "the process that served this request ended before it answered. Send it again: a turn that was "
            "stored is not stored twice";
        details["retryable"] = true;
        break;
    case Fault::given_up:
    case Fault::timed_out:
    case Fault::cancelled:
        name = "internal";
        details["retryable"] = true;
        break;
    case Fault::not_json:
    case Fault::too_deep:
    case Fault::not_an_object:
    case Fault::not_a_request:
    case Fault::wrong_version:
    case Fault::id_too_long:
    case Fault::oversize:
    case Fault::no_batch:
        break;
    }
    return json::to_text(contract_error(complaint.code, name, message, std::move(details)));
}

std::string lost_text(std::string_view raw_id) {
    return rpc::lost_line(contract_dialect, raw_id);
}

} // namespace holdfast::memory
