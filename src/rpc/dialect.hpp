// How a protocol words what the dispatcher answers by itself.
#pragma once

#include "rpc/message.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::rpc {

// The errors that the dispatcher answers by itself.
enum class Fault : std::uint8_t {
    not_json,
    too_deep,
    not_an_object,
    not_a_request, // no method, or an id that cannot be one
    wrong_version, // of JSON-RPC
    id_too_long,
    oversize, // the line
    no_batch, // a list of requests that is not taken
    unknown_method,
    bad_params, // not an object
    given_up,   // its handler dropped it
    lost,       // its process ended
    cancelled,
    timed_out,
};

struct Complaint {
    Fault fault{};
    int code = invalid_request;
    std::string message;       // in plain words; a dialect may have its own
    bool notification = false; // it came without an id, so its sender expects no answer
};

// A constant of the program: answers that are still to come refer to it.
struct Dialect {
    // The error object, as JSON text. Empty: nothing is answered.
    std::string (*error)(const Complaint& complaint);
    // An id that is too long comes back as null. Otherwise as it was written.
    bool long_id_as_null = false;
    CancelStyle cancel = CancelStyle::silent; // silent: requests cannot be cancelled
};

// {code, message}, and no answer to a notification.
std::string plain_error(const Complaint& complaint);
inline constexpr Dialect plain_dialect{plain_error};

// The error line for a request whose process ended before it answered. The ids of a batch are a list; so is
// the answer then.
std::string lost_line(const Dialect& dialect, std::string_view raw_id);

} // namespace holdfast::rpc
