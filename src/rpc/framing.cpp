#include "rpc/framing.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::rpc {

namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr std::size_t head_bytes = 256;
constexpr std::size_t max_header_line = 8192;
constexpr std::size_t kept_capacity = std::size_t{256} << 10; // more than this is given back after use
// A header that promises more than this is a lie: believing it would mean to skip for ever.
constexpr std::uint64_t max_skipped_body = std::uint64_t{4} << 30;

bool is_blank_line(std::string_view line) {
    return line.find_first_not_of(" \t\r\v\f") == npos;
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// Where the last "Content-Length:" of a line starts, in any case of letters.
std::size_t find_length_header(std::string_view line) {
    constexpr std::string_view name = "content-length:";
    for (std::size_t at = line.size() < name.size() ? 0 : line.size() - name.size() + 1; at-- > 0;)
        if (std::ranges::equal(line.substr(at, name.size()), name, {}, lower))
            return at;
    return npos;
}

std::optional<std::uint64_t> parse_length(std::string_view text) {
    const std::size_t from = text.find_first_not_of(" \t");
    if (from == npos)
        return std::nullopt;
    text.remove_prefix(from);
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
        value = value * 10 + static_cast<std::uint64_t>(text[digits] - '0');
        if (value > max_skipped_body)
            return std::nullopt;
    }
    if (digits == 0 || !is_blank_line(text.substr(digits)))
        return std::nullopt;
    return value;
}

bool is_content_type(std::string_view line) {
    constexpr std::string_view name = "content-type:";
    return std::ranges::equal(line.substr(0, name.size()), name, {}, lower);
}

} // namespace

std::optional<Frame> FrameReader::next() {
    drop_used_buffer();
    return framing_ == Framing::newline ? next_line_message() : next_content_length();
}

void FrameReader::drop_used_buffer() {
    if (!buffer_used_)
        return;
    buffer_used_ = false;
    if (buffer_.capacity() > kept_capacity)
        std::string().swap(buffer_);
    else
        buffer_.clear();
}

std::string_view FrameReader::remember_head(std::string_view first, std::string_view second) {
    head_.assign(first.substr(0, head_bytes));
    head_ += second.substr(0, head_bytes - head_.size());
    return head_;
}

// A whole line without its end; nothing when the chunk is used up. `too_long` comes once, with the head of
// the line.
std::optional<std::string_view> FrameReader::take_line(std::size_t limit, bool& too_long) {
    too_long = false;
    while (!input_.empty()) {
        const std::size_t end = input_.find('\n');
        if (skipping_line_) {
            skipping_line_ = end == npos;
            input_.remove_prefix(end == npos ? input_.size() : end + 1);
            continue;
        }
        const std::string_view piece = input_.substr(0, end);
        input_.remove_prefix(end == npos ? input_.size() : end + 1);
        if (buffer_.size() + piece.size() > limit) {
            too_long = true;
            skipping_line_ = end == npos;
            const std::string_view head = remember_head(buffer_, piece);
            buffer_used_ = true;
            drop_used_buffer();
            return head;
        }
        if (end == npos) {
            buffer_.append(piece);
            return std::nullopt;
        }
        if (buffer_.empty())
            return piece;
        buffer_.append(piece);
        buffer_used_ = true;
        return buffer_;
    }
    return std::nullopt;
}

std::optional<Frame> FrameReader::next_line_message() {
    bool too_long = false;
    while (const auto line = take_line(max_message_, too_long)) {
        if (too_long)
            return Frame{Frame::Kind::oversize, *line};
        if (!is_blank_line(*line)) {
            const bool carriage = line->back() == '\r';
            return Frame{Frame::Kind::message, line->substr(0, line->size() - (carriage ? 1 : 0))};
        }
        drop_used_buffer();
    }
    return std::nullopt;
}

std::optional<Frame> FrameReader::next_content_length() {
    while (!input_.empty() || (part_ == Part::body && length_ == 0U)) {
        if (skipping_body_ > 0) {
            const std::size_t skipped = std::min<std::uint64_t>(skipping_body_, input_.size());
            input_.remove_prefix(skipped);
            skipping_body_ -= skipped;
            continue;
        }
        if (part_ == Part::body) {
            if (auto frame = body())
                return frame;
            continue;
        }
        bool too_long = false;
        const auto line = take_line(max_header_line, too_long);
        if (!line)
            return std::nullopt;
        if (too_long)
            return Frame{Frame::Kind::noise, *line};
        if (auto frame = header_line(*line))
            return frame;
        drop_used_buffer();
    }
    return std::nullopt;
}

std::optional<Frame> FrameReader::header_line(std::string_view line) {
    if (is_blank_line(line)) {
        if (!length_)
            return std::nullopt; // a blank line between messages
        if (*length_ <= max_message_) {
            part_ = Part::body;
            return std::nullopt;
        }
        skipping_body_ = *length_;
        length_.reset();
        // Its first bytes, as far as they are here already.
        return Frame{Frame::Kind::oversize, remember_head({}, input_.substr(0, skipping_body_))};
    }
    const std::size_t header = find_length_header(line);
    if (header == npos) {
        if (is_content_type(line))
            return std::nullopt;
        return Frame{Frame::Kind::noise, remember_head(line, {})};
    }
    const auto length = parse_length(line.substr(header + std::string_view("content-length:").size()));
    if (length)
        length_ = length;
    // Text without a newline may stand right before a header.
    if (!length || header > 0)
        return Frame{Frame::Kind::noise, remember_head(line, {})};
    return std::nullopt;
}

std::optional<Frame> FrameReader::body() {
    const auto wanted = static_cast<std::size_t>(*length_) - buffer_.size();
    const std::string_view piece = input_.substr(0, wanted);
    input_.remove_prefix(piece.size());
    std::string_view whole = piece;
    if (!buffer_.empty() || piece.size() < wanted) {
        buffer_.append(piece);
        if (piece.size() < wanted)
            return std::nullopt;
        whole = buffer_;
        buffer_used_ = true;
    }
    part_ = Part::line;
    length_.reset();
    if (whole.empty())
        return std::nullopt;
    return Frame{Frame::Kind::message, whole};
}

std::optional<Frame> FrameReader::finish() {
    drop_used_buffer();
    input_ = {};
    skipping_line_ = false;
    skipping_body_ = 0;
    length_.reset();
    part_ = Part::line;
    if (is_blank_line(buffer_)) {
        buffer_.clear();
        return std::nullopt;
    }
    buffer_used_ = true;
    if (framing_ == Framing::newline)
        return Frame{Frame::Kind::message, buffer_};
    return Frame{Frame::Kind::noise, std::string_view(buffer_).substr(0, head_bytes)};
}

void append_frame(std::string& out, Framing framing, std::string_view message) {
    if (framing == Framing::content_length) {
        out += base::cat("Content-Length: ", message.size(), "\r\n\r\n");
        out += message;
        return;
    }
    const std::size_t from = out.size();
    out += message;
    // Inside a string a newline is written \n, so any raw one stands between tokens.
    for (const char end : {'\n', '\r'})
        for (std::size_t at = from; (at = out.find(end, at)) != npos;)
            out[at] = ' ';
    out += '\n';
}

} // namespace holdfast::rpc
