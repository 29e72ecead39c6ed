// Strings of JSON: encoding checked, literals written and read.
#include "json/json_scan.hpp"

#include <cstdint>
#include <cstring>

namespace holdfast::json {

namespace {

// The length of the well-formed UTF-8 sequence at `at`, or 0. Overlong forms and surrogates are not
// well-formed.
std::size_t sequence_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned lead = byte(at);
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return follows(at + 1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const unsigned second = byte(at + 1);
        const bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F);
        return !bad && follows(at + 1) && follows(at + 2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const unsigned second = byte(at + 1);
        const bool bad = (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
        return !bad && follows(at + 1) && follows(at + 2) && follows(at + 3) ? 4 : 0;
    }
    return 0;
}

constexpr std::string_view replacement = "\xEF\xBF\xBD";

void append_utf8(std::string& out, std::uint32_t code) {
    const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | code >> 6);
        put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3F));
        put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

// Four hex digits that the scanner has already checked.
std::uint32_t hex4(std::string_view text, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const char c = text[at + i];
        const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    return value;
}

bool is_high(std::uint32_t code) {
    return code >= 0xD800 && code <= 0xDBFF;
}
bool is_low(std::uint32_t code) {
    return code >= 0xDC00 && code <= 0xDFFF;
}

// The escape at `at` (a backslash); returns the place behind it.
std::size_t append_escape(std::string& out, std::string_view text, std::size_t at) {
    const char escape = text[at + 1];
    switch (escape) {
    case 'b':
        out += '\b';
        return at + 2;
    case 'f':
        out += '\f';
        return at + 2;
    case 'n':
        out += '\n';
        return at + 2;
    case 'r':
        out += '\r';
        return at + 2;
    case 't':
        out += '\t';
        return at + 2;
    case 'u':
        break;
    default:
        out += escape;
        return at + 2;
    }
    const std::uint32_t code = hex4(text, at + 2);
    at += 6;
    if (is_high(code) && text.substr(at, 2) == "\\u" && is_low(hex4(text, at + 2))) {
        append_utf8(out, 0x10000 + ((code - 0xD800) << 10) + (hex4(text, at + 2) - 0xDC00));
        return at + 6;
    }
    if (is_high(code) || is_low(code))
        out += replacement;
    else
        append_utf8(out, code);
    return at;
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
    std::size_t at = 0;
    while (at < text.size()) {
        std::uint64_t block = 0;
        if (at + sizeof block <= text.size()) {
            std::memcpy(&block, text.data() + at, sizeof block);
            if ((block & 0x8080808080808080ULL) == 0) {
                at += sizeof block;
                continue;
            }
        }
        const std::size_t length = sequence_length(text, at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

void append_quoted(std::string& out, std::string_view text) {
    constexpr const char* hex = "0123456789abcdef";
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte >= 0x80) {
            const std::size_t length = sequence_length(text, at);
            out += length == 0 ? replacement : text.substr(at, length);
            at += length == 0 ? 1 : length;
            continue;
        }
        ++at;
        switch (byte) {
        case '"':
            out += "\\\"";
            break;
        case '\\':
            out += "\\\\";
            break;
        case '\n':
            out += "\\n";
            break;
        case '\r':
            out += "\\r";
            break;
        case '\t':
            out += "\\t";
            break;
        default:
            if (byte < 0x20) {
                out += "\\u00";
                out += hex[byte >> 4];
                out += hex[byte & 15];
            } else {
                out += static_cast<char>(byte);
            }
        }
    }
    out += '"';
}

std::string quote(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 2);
    append_quoted(out, text);
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
