// From bytes to messages and back, in the two framings of JSON-RPC over a pipe: one message a line, or a
// Content-Length header before each (as language servers do).
//
// The reader takes what comes in any pieces, and whatever comes: text between messages, half lines, binary,
// headers that lie. It holds at most `max_message` bytes. What is longer is skipped to its end at constant
// memory and reported once. Whether a message is JSON is not its business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::rpc {

enum class Framing : std::uint8_t { newline, content_length };

inline constexpr std::size_t default_max_message = std::size_t{16} << 20;

struct Frame {
    enum class Kind : std::uint8_t {
        message,  // text: the message without its frame
        oversize, // text: its first bytes; the rest is skipped
        noise,    // text: the first bytes of what stood between messages (Content-Length framing only)
    };
    Kind kind{};
    std::string_view text;
};

class FrameReader {
public:
    explicit FrameReader(Framing framing, std::size_t max_message = default_max_message)
        : framing_(framing)
        , max_message_(max_message) {}

    // Hands over a chunk. It is not copied: keep it until next() has returned nothing.
    void feed(std::string_view chunk) noexcept { input_ = chunk; }

    // The next frame, or nothing when the chunk is used up. Its text is valid until the next call of
    // anything.
    std::optional<Frame> next();

    // The input has ended: what stands there without its end is a message too (a last line without newline).
    std::optional<Frame> finish();

    // Bytes that are kept at the moment.
    [[nodiscard]] std::size_t buffered() const noexcept { return buffer_.size(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return buffer_.capacity(); }

private:
    enum class Part : std::uint8_t { line, body };

    std::optional<Frame> next_line_message();
    std::optional<Frame> next_content_length();
    std::optional<Frame> header_line(std::string_view line);
    std::optional<Frame> body();
    std::optional<std::string_view> take_line(std::size_t limit, bool& too_long);
    std::string_view remember_head(std::string_view first, std::string_view second);
    void drop_used_buffer();

    Framing framing_;
    std::size_t max_message_;
    std::string_view input_;          // what is left of the chunk
    std::string buffer_;              // the beginning of something whose end has not come yet
    std::string head_;                // the first bytes of something skipped
    bool buffer_used_ = false;        // buffer_ was handed out, and is to be emptied
    bool skipping_line_ = false;      // until the next newline
    std::uint64_t skipping_body_ = 0; // so many bytes
    Part part_ = Part::line;
    std::optional<std::uint64_t> length_; // of the body, once its header was seen
};

// Appends the message in its frame. Newlines between the tokens of a message become blanks: inside a line
// framing they would end it.
void append_frame(std::string& out, Framing framing, std::string_view message);

} // namespace holdfast::rpc
