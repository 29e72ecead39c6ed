// Any bytes in any pieces: the same frames come out as in one piece, memory stays within the bound, and a
// message that follows the noise is found. Built once for each framing (FUZZ_FRAMING).
#include "expect.hpp"

#include "rpc/framing.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace holdfast::rpc;

namespace {

constexpr Framing framing = Framing::FUZZ_FRAMING;
constexpr std::size_t limit = 300;

struct Seen {
    Frame::Kind kind;
    std::string text;
    bool operator==(const Seen&) const = default;
};

// The head of something skipped is as long as what was there when it was noticed, which depends on the
// pieces.
void note(std::vector<Seen>& seen, const Frame& frame) {
    FUZZ_EXPECT(frame.text.size() <= std::max<std::size_t>(limit, 256));
    seen.push_back(
        {frame.kind, frame.kind == Frame::Kind::message ? std::string(frame.text) : std::string()});
}

std::vector<Seen> read_in_pieces(std::string_view bytes, unsigned seed, bool whole) {
    FrameReader reader(framing, limit);
    std::vector<Seen> seen;
    while (!bytes.empty()) {
        seed = seed * 1664525U + 1013904223U;
        const std::size_t piece =
            whole ? bytes.size() : std::min<std::size_t>(bytes.size(), 1 + (seed >> 16) % 37);
        const std::string copy(bytes.substr(0, piece)); // its own memory, so that a stale view is noticed
        reader.feed(copy);
        while (const auto frame = reader.next())
            note(seen, *frame);
        FUZZ_EXPECT(reader.buffered() <= (framing == Framing::newline ? limit : std::size_t{8192}));
        bytes.remove_prefix(piece);
    }
    while (const auto frame = reader.finish())
        note(seen, *frame);
    return seen;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size < 2)
        return 0;
    const auto seed = static_cast<unsigned>(data[0]);
    const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    FUZZ_EXPECT(read_in_pieces(bytes, seed, true) == read_in_pieces(bytes, seed, false));

    // Whatever stood before, a line is found after a newline. (A length that lies may swallow what follows
    // it.)
    if (framing == Framing::newline) {
        std::string more = bytes + "\n";
        append_frame(more, framing, "{\"found\":true}");
        const auto seen = read_in_pieces(more, seed, false);
        FUZZ_EXPECT(!seen.empty() && seen.back().text == "{\"found\":true}");
    }
    // What we write, we read.
    if (const auto body = bytes.substr(0, limit); body.find_first_of("\r\n") == std::string::npos &&
                                                  body.find_first_not_of(" \t\v\f") != std::string::npos) {
        std::string out;
        append_frame(out, framing, body);
        const auto seen = read_in_pieces(out, seed, false);
        FUZZ_EXPECT(seen.size() == 1 && seen[0].text == body);
    }
    return 0;
}
