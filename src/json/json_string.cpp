#include "json/json_string.hpp"

#include "base/hex.hpp"
#include "base/utf8.hpp"
#include "json/json_scan.hpp"

#include <algorithm>

namespace holdfast::json {

namespace {

// Four hex digits that the scanner has already checked.
char32_t hex4(std::string_view text, std::size_t at) {
    char32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
        value = value << 4U | static_cast<char32_t>(base::hex_value(text[at + i]));
    return value;
}

bool is_high(char32_t code) {
    return code >= 0xd800 && code <= 0xdbff;
}
bool is_low(char32_t code) {
    return code >= 0xdc00 && code <= 0xdfff;
}

// The escape at `at` (a backslash); returns the place behind it.
std::size_t append_escape(std::string& out, std::string_view text, std::size_t at) {
    constexpr std::string_view letters = "bfnrt";
    constexpr std::string_view controls = "\b\f\n\r\t";
    const char escape = text[at + 1];
    if (escape != 'u') {
        const auto which = letters.find(escape);
        out += which == letters.npos ? escape : controls[which];
        return at + 2;
    }
    const char32_t code = hex4(text, at + 2);
    at += 6;
    if (is_high(code) && text.substr(at, 2) == "\\u" && is_low(hex4(text, at + 2))) {
        base::append_utf8(out, 0x10000 + ((code - 0xd800) << 10U) + (hex4(text, at + 2) - 0xdc00));
        return at + 6;
    }
    base::append_utf8(out, code); // half a pair becomes U+FFFD
    return at;
}

} // namespace

void append_string(std::string& out, std::string_view text, Bytes bytes) {
    out += '"';
    std::size_t from = 0; // what needs no escape is copied in whole pieces
    const auto piece = [&](std::size_t end) {
        const auto part = text.substr(from, end - from);
        if (bytes == Bytes::kept || base::is_utf8(part))
            out += part;
        else
            base::append_as_utf8(out, part);
    };
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        piece(at);
        from = at + 1;
        constexpr std::string_view named = "\"\\\b\f\n\r\t";
        constexpr std::string_view letters = "\"\\bfnrt";
        if (const auto which = named.find(text[at]); which != named.npos) {
            out += '\\';
            out += letters[which];
        } else {
            out += "\\u";
            base::append_hex(out, byte, 4);
        }
    }
    piece(text.size());
    out += '"';
}

std::string quote(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 2);
    append_string(out, text, Bytes::as_utf8);
    return out;
}

std::optional<std::string> unquote(std::string_view literal) {
    if (literal.empty() || literal.front() != '"' || end_of_value(literal, 0) != literal.size())
        return std::nullopt;
    const std::string_view text = literal.substr(1, literal.size() - 2);
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '\\') {
            at = append_escape(out, text, at);
        } else {
            const std::size_t plain = std::min(text.find('\\', at), text.size());
            out += text.substr(at, plain - at);
            at = plain;
        }
    }
    return out;
}

} // namespace holdfast::json
