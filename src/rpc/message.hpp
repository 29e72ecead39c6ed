// What a JSON-RPC 2.0 message is, without parsing more of it than routing needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::rpc {

// Error codes of JSON-RPC, and those in common use around it.
enum ErrorCode : int {
    parse_error = -32700,
    invalid_request = -32600,
    method_not_found = -32601,
    invalid_params = -32602,
    internal_error = -32603,
    server_error = -32000,
    request_cancelled = -32800,
};

// How the other side is told that an answer is no longer wanted.
enum class CancelStyle : std::uint8_t {
    silent,
    lsp, // $/cancelRequest {"id": n}; a request that was cancelled is answered with an error
    mcp, // notifications/cancelled {"requestId": n}; it is not answered
};

enum class MessageKind : std::uint8_t {
    noise, // not a message: see `why`
    request,
    notification,
    result,
    error,
    empty_answer, // an id, and neither result nor error
};

// Views into the text it was read from, as written there.
struct Message {
    MessageKind kind = MessageKind::noise;
    std::string_view id;     // raw: a number, a string with quotes, or null
    std::string_view method; // raw, without quotes; see method_name()
    std::string_view params; // raw; empty when absent
    std::string_view result; // raw
    std::string_view error;  // raw
    bool too_deep = false;   // well-formed, but a member is nested deeper than max_depth: not to be passed on
    const char* why = "";    // noise: what is wrong, for a person

    // The method's name; decoded only when it was written with escapes, which is next to never.
    [[nodiscard]] std::string_view method_name(std::string& storage) const;
};

// Any text is fine: what is not a JSON-RPC 2.0 message is noise (also null, lists, strings, and objects
// without "jsonrpc": "2.0").
enum class Bytes : bool { utf8, any };
Message classify(std::string_view text, Bytes bytes = Bytes::utf8) noexcept;

// The id of an answer of which only the beginning is there; empty when that does not tell.
std::string_view answer_id_of_head(std::string_view head) noexcept;

// An id as we give them: a plain number. Nothing for anything else.
std::optional<std::uint64_t> number_of(std::string_view raw_id) noexcept;

// The request that a notification cancels.
struct Cancellation {
    CancelStyle style = CancelStyle::silent; // silent: it cancels nothing
    std::string_view id;                     // raw, in params
};
Cancellation read_cancellation(std::string_view method, std::string_view params) noexcept;

// An error object taken apart. Missing or odd members get a neutral value.
struct ErrorObject {
    int code = server_error;
    std::string message;
    std::string_view data; // raw; empty when absent
};
ErrorObject read_error(std::string_view raw);

// Messages written. `params` and `result` are raw JSON; empty params are left out.
std::string write_request(std::uint64_t id, std::string_view method, std::string_view params);
std::string write_request(std::string_view raw_id, std::string_view method, std::string_view params);
std::string write_notification(std::string_view method, std::string_view params);
std::string write_result(std::string_view raw_id, std::string_view result);
std::string write_error(std::string_view raw_id, int code, std::string_view message,
                        std::string_view data = {});
// The same in two steps: the object {code, message, data?}, and the answer that carries one.
std::string write_error_object(int code, std::string_view message, std::string_view data = {});
std::string write_failure(std::string_view raw_id, std::string_view error_object);

} // namespace holdfast::rpc
