// Any bytes in any pieces as HTTP: the same requests and the same refusal come out as in one piece, nothing
// over the limits is handed on, and after a refusal nothing more is.
#include "expect.hpp"

#include "memory/viewer/http_request.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace holdfast::memory;

namespace {

constexpr HttpLimits limits{.head = 200, .body = 60};

struct Seen {
    std::vector<std::string> requests;
    int refusal = 0;
    bool operator==(const Seen&) const = default;
};

Seen read_in_pieces(std::string_view bytes, unsigned seed, bool whole) {
    HttpReader reader(limits);
    Seen seen;
    while (!bytes.empty()) {
        seed = seed * 1664525U + 1013904223U;
        const std::size_t piece =
            whole ? bytes.size() : std::min<std::size_t>(bytes.size(), 1 + (seed >> 16) % 23);
        reader.feed(bytes.substr(0, piece));
        while (const auto request = reader.next()) {
            FUZZ_EXPECT(seen.refusal == 0);
            FUZZ_EXPECT(request->body.size() <= limits.body);
            FUZZ_EXPECT(request->path.size() + request->query.size() + request->host.size() <= limits.head);
            FUZZ_EXPECT(request->path.starts_with('/') && !request->method.empty());
            for (const auto* text :
                 {&request->path, &request->query, &request->host, &request->authorization})
                FUZZ_EXPECT(text->find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
            seen.requests.push_back(request->method + ' ' + request->path + '?' + request->query + ' ' +
                                    request->host + ' ' + request->origin + ' ' + request->authorization +
                                    (request->keep_alive ? " + " : " - ") + request->body);
        }
        seen.refusal = reader.refusal();
        bytes.remove_prefix(piece);
    }
    return seen;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size < 2)
        return 0;
    const auto seed = static_cast<unsigned>(data[0]);
    const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    FUZZ_EXPECT(read_in_pieces(bytes, seed, true) == read_in_pieces(bytes, seed, false));
    return 0;
}
