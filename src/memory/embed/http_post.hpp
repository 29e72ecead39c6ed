// One HTTP request to a server on this machine or at a numeric address, with a deadline that holds whatever
// the other side does. Plain HTTP: a model server elsewhere is reached through a tunnel or a proxy of the
// user's.
#pragma once

#include "holdfast/result.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::memory {

struct HttpTarget {
    std::string host; // numeric, or "localhost"
    std::uint16_t port = 80;
    std::string path = "/";
};
// "http://127.0.0.1:8080/v1/embeddings". invalid_argument for everything else, with the reason.
Result<HttpTarget> parse_http(std::string_view url);

// The body of a 200 answer. `deadline_us`: monotonic. `give_up`, once true, ends the wait within a tenth of a
// second. At most `most` bytes are read. Errors: timed_out, io, protocol (another status, too long, or no
// HTTP).
Result<std::string> http_post(const HttpTarget& target, const std::string& bearer, std::string_view body,
                              std::size_t most, std::int64_t deadline_us, const std::atomic<bool>& give_up);

} // namespace holdfast::memory
