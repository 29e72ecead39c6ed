#include "memory/viewer/http_request.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::memory {

namespace {

bool same_word(std::string_view text, std::string_view lower) {
    return std::ranges::equal(
        text, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

bool is_token(std::string_view text) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               marks.contains(c);
    });
}

bool has_control(std::string_view text) {
    return std::ranges::any_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
}

} // namespace

std::optional<HttpRequest> HttpReader::refuse(int status) {
    refusal_ = status;
    buffer_.clear();
    return std::nullopt;
}

// The request line and the headers, without the blank line. False: refusal_ says why.
bool HttpReader::read_head(std::string_view head) {
    const auto bad = [this](int status) {
        refusal_ = status;
        return false;
    };
    request_ = {};
    body_length_ = 0;
    auto line_end = head.find("\r\n");
    auto line = head.substr(0, line_end);
    head.remove_prefix(line_end == head.npos ? head.size() : line_end + 2);
    const auto space = line.find(' ');
    const auto last = line.rfind(' ');
    if (space == line.npos || last == space || has_control(line))
        return bad(400);
    const auto target = line.substr(space + 1, last - space - 1);
    const auto version = line.substr(last + 1);
    if (!is_token(line.substr(0, space)) || target.empty() || target.front() != '/' ||
        target.find(' ') != target.npos)
        return bad(400);
    if (version != "HTTP/1.1" && version != "HTTP/1.0")
        return bad(505);
    request_.method = line.substr(0, space);
    request_.path = target.substr(0, target.find('?'));
    if (const auto mark = target.find('?'); mark != target.npos)
        request_.query = target.substr(mark + 1);
    request_.keep_alive = version == "HTTP/1.1";
    bool length_given = false;
    int hosts = 0;
    while (!head.empty()) {
        line_end = head.find("\r\n");
        line = head.substr(0, line_end);
        head.remove_prefix(line_end == head.npos ? head.size() : line_end + 2);
        const auto colon = line.find(':');
        // A line that goes on in the next one, and a blank before the colon, are how requests are smuggled.
        if (colon == line.npos || !is_token(line.substr(0, colon)) || has_control(line))
            return bad(400);
        const auto name = line.substr(0, colon);
        const auto value = trimmed(line.substr(colon + 1));
        if (same_word(name, "host")) {
            ++hosts;
            request_.host = value;
        } else if (same_word(name, "origin")) {
            request_.origin = value;
        } else if (same_word(name, "sec-fetch-site")) {
            request_.fetch_site = value;
        } else if (same_word(name, "sec-fetch-mode")) {
            request_.fetch_mode = value;
        } else if (same_word(name, "authorization")) {
            request_.authorization = value;
        } else if (same_word(name, "content-type")) {
            request_.content_type = value;
        } else if (same_word(name, "connection")) {
            if (same_word(value, "close"))
                request_.keep_alive = false;
        } else if (same_word(name, "transfer-encoding")) {
            return bad(501); // a body here has its length
        } else if (same_word(name, "content-length")) {
            std::size_t length = 0;
            const auto read = std::from_chars(value.data(), value.data() + value.size(), length);
            if (length_given || value.empty() || read.ec != std::errc{} ||
                read.ptr != value.data() + value.size())
                return bad(400);
            if (length > limits_.body)
                return bad(413);
            length_given = true;
            body_length_ = length;
        } else if (same_word(name, "expect")) {
            return bad(417);
        }
    }
    return hosts == 1 ? true : bad(400);
}

std::optional<HttpRequest> HttpReader::next() {
    if (refusal_ != 0)
        return std::nullopt;
    if (!have_head_) {
        while (buffer_.starts_with("\r\n")) // left over between requests
            buffer_.erase(0, 2);
        const auto end = buffer_.find("\r\n\r\n");
        // Up to three bytes of the end may have come without the fourth.
        if (end == buffer_.npos ? buffer_.size() > limits_.head + 3 : end > limits_.head)
            return refuse(431);
        if (end == buffer_.npos)
            return std::nullopt;
        if (!read_head(std::string_view(buffer_).substr(0, end)))
            return refuse(refusal_);
        buffer_.erase(0, end + 4);
        have_head_ = true;
    }
    if (buffer_.size() < body_length_)
        return std::nullopt;
    request_.body = buffer_.substr(0, body_length_);
    buffer_.erase(0, body_length_);
    have_head_ = false;
    return std::move(request_);
}

} // namespace holdfast::memory
