#include "rpc/message.hpp"

#include "base/utf8.hpp"
#include "json/json_scan.hpp"

#include "base/text.hpp"
#include "json/json_string.hpp"

#include <charconv>

namespace holdfast::rpc {

namespace {

constexpr std::string_view preamble = R"({"jsonrpc":"2.0",)";

Message noise(const char* why) noexcept {
    Message message;
    message.why = why;
    return message;
}

bool is_id(std::string_view raw) {
    return raw == "null" || raw.front() == '"' || raw.front() == '-' ||
           (raw.front() >= '0' && raw.front() <= '9');
}

void read_member(Message& message, bool& version, std::string_view key, std::string_view value) {
    if (key == "jsonrpc")
        version = value == R"("2.0")";
    else if (key == "id")
        message.id = value;
    else if (key == "method")
        message.method = value;
    else if (key == "params")
        message.params = value;
    else if (key == "result")
        message.result = value;
    else if (key == "error")
        message.error =
            value == "null" ? std::string_view{} : value; // some write "error": null beside a result
}

} // namespace

std::string_view Message::method_name(std::string& storage) const {
    if (method.find('\\') == std::string_view::npos)
        return method;
    storage = json::unquote(base::cat('"', method, '"')).value_or("");
    return storage;
}

Message classify(std::string_view text, Bytes bytes) noexcept {
    if (bytes == Bytes::utf8 && !base::is_utf8(text))
        return noise("not UTF-8");
    Message message;
    bool version = false;
    json::ObjectReader reader(text);
    while (reader.next())
        read_member(message, version, reader.key(), reader.value());
    if (!reader.complete())
        return noise(json::is_json(text) ? "not an object" : "not JSON");
    message.too_deep = reader.too_deep();
    if (!version)
        return noise(R"(an object without "jsonrpc": "2.0")");
    if (!message.id.empty() && !is_id(message.id))
        return noise("an id that is neither a number nor a string");
    if (!message.method.empty()) {
        if (message.method.front() != '"')
            return noise("a method that is not a string");
        message.method = message.method.substr(1, message.method.size() - 2);
        message.kind = message.id.empty() ? MessageKind::notification : MessageKind::request;
    } else if (message.id.empty()) {
        return noise("neither a method nor an id");
    } else if (!message.error.empty()) {
        message.kind = MessageKind::error;
    } else {
        message.kind = message.result.empty() ? MessageKind::empty_answer : MessageKind::result;
    }
    return message;
}

std::string_view answer_id_of_head(std::string_view head) noexcept {
    Message message;
    bool version = false;
    json::ObjectReader reader(head);
    while (reader.next())
        read_member(message, version, reader.key(), reader.value());
    return version && message.method.empty() ? message.id : std::string_view{};
}

std::optional<std::uint64_t> number_of(std::string_view raw_id) noexcept {
    std::uint64_t value = 0;
    const char* end = raw_id.data() + raw_id.size();
    const auto [stopped, error] = std::from_chars(raw_id.data(), end, value);
    if (error != std::errc{} || stopped != end || raw_id.empty())
        return std::nullopt;
    return value;
}

Cancellation read_cancellation(std::string_view method, std::string_view params) noexcept {
    Cancellation cancellation;
    if (method == "$/cancelRequest")
        cancellation.style = CancelStyle::lsp;
    else if (method == "notifications/cancelled")
        cancellation.style = CancelStyle::mcp;
    else
        return cancellation;
    json::ObjectReader reader(params);
    while (reader.next())
        if (reader.key() == (cancellation.style == CancelStyle::lsp ? "id" : "requestId"))
            cancellation.id = reader.value();
    return cancellation;
}

ErrorObject read_error(std::string_view raw) {
    ErrorObject object;
    json::ObjectReader reader(raw);
    while (reader.next()) {
        const std::string_view value = reader.value();
        if (reader.key() == "code")
            std::from_chars(value.data(), value.data() + value.size(), object.code);
        else if (reader.key() == "message")
            object.message = json::unquote(value).value_or(std::string(value));
        else if (reader.key() == "data")
            object.data = value;
    }
    if (object.message.empty())
        object.message =
            reader.complete() ? "the helper answered with an error and no message" : std::string(raw);
    return object;
}

std::string write_request(std::uint64_t id, std::string_view method, std::string_view params) {
    char digits[20];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, id);
    static_cast<void>(error); // twenty digits hold any number of 64 bits
    return write_request(std::string_view(digits, end), method, params);
}

std::string write_request(std::string_view raw_id, std::string_view method, std::string_view params) {
    std::string out;
    out.reserve(64 + raw_id.size() + method.size() + params.size());
    out += preamble;
    out += R"("id":)";
    out += raw_id;
    out += R"(,"method":)";
    json::append_string(out, method, json::Bytes::as_utf8);
    if (!params.empty()) {
        out += R"(,"params":)";
        out += params;
    }
    out += '}';
    return out;
}

std::string write_notification(std::string_view method, std::string_view params) {
    std::string out{preamble};
    out += R"("method":)";
    json::append_string(out, method, json::Bytes::as_utf8);
    if (!params.empty()) {
        out += R"(,"params":)";
        out += params;
    }
    out += '}';
    return out;
}

std::string write_result(std::string_view raw_id, std::string_view result) {
    return base::cat(preamble, R"("id":)", raw_id, R"(,"result":)", result.empty() ? "null" : result, '}');
}

std::string write_error(std::string_view raw_id, int code, std::string_view message, std::string_view data) {
    return write_failure(raw_id, write_error_object(code, message, data));
}

std::string write_error_object(int code, std::string_view message, std::string_view data) {
    std::string out = base::cat(R"({"code":)", code, R"(,"message":)");
    json::append_string(out, message, json::Bytes::as_utf8);
    if (!data.empty())
        out += base::cat(R"(,"data":)", data);
    return out + '}';
}

std::string write_failure(std::string_view raw_id, std::string_view error_object) {
    return base::cat(preamble, R"("id":)", raw_id, R"(,"error":)", error_object, '}');
}

} // namespace holdfast::rpc
