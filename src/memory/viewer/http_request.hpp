// HTTP/1.1 requests from bytes. Knows nothing of sockets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::memory {

struct HttpLimits {
    std::size_t head = 8 * 1024;
    std::size_t body = std::size_t{1} << 20;
};

struct HttpRequest {
    std::string method; // of HEAD: GET, and `head_only`
    std::string path;   // without the query
    std::string query;  // without the '?'
    std::string host;
    std::string origin;
    std::string fetch_site; // Sec-Fetch-Site
    std::string fetch_mode; // Sec-Fetch-Mode
    std::string authorization;
    std::string content_type;
    std::string body;
    bool keep_alive = true;
    bool head_only = false; // nothing is to be used up: what is answered is not sent
};

// Takes what came, in any pieces. One request at a time: what belongs to the next stays in the buffer.
class HttpReader {
public:
    explicit HttpReader(HttpLimits limits = {})
        : limits_(limits) {}

    void feed(std::string_view bytes) { buffer_ += bytes; }
    // True: nothing of a request has come yet.
    [[nodiscard]] bool idle() const noexcept { return buffer_.empty() && !have_head_; }
    // The next whole request; nothing when more is needed, or when it is refused (refusal() then says so, and
    // the connection is to be closed after the answer).
    std::optional<HttpRequest> next();
    [[nodiscard]] int refusal() const noexcept { return refusal_; } // a status code, or 0

private:
    bool read_head(std::string_view head);
    std::optional<HttpRequest> refuse(int status);

    HttpLimits limits_;
    std::string buffer_;
    HttpRequest request_;
    std::size_t body_length_ = 0;
    bool have_head_ = false;
    int refusal_ = 0;
};

} // namespace holdfast::memory
