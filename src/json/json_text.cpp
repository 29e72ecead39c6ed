#include "json/json_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace holdfast::json {

namespace {

void add_string(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += '"';
    std::size_t from = 0; // what needs no escape is copied in whole pieces
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        out.append(text, from, at - from);
        from = at + 1;
        out += '\\';
        constexpr std::string_view named = "\"\\\b\f\n\r\t";
        constexpr std::string_view letters = "\"\\bfnrt";
        if (const auto which = named.find(text[at]); which != named.npos) {
            out += letters[which];
        } else {
            out += "u00";
            out += digits[byte >> 4U];
            out += digits[byte & 15U];
        }
    }
    out.append(text, from, text.size() - from);
    out += '"';
}

template <class Number>
void add_number(std::string& out, Number number) {
    std::array<char, 40> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

void add_real(std::string& out, double number) {
    if (!std::isfinite(number)) {
        out += "null";
        return;
    }
    const auto from = out.size();
    add_number(out, number);
    if (out.find_first_of(".e", from) == out.npos)
        out += ".0";
}

// As deep as what was parsed, and that is bounded where it comes in.
void add(std::string& out, const json::value& value) {
    switch (value.kind()) {
    case json::kind::null:
        out += "null";
        return;
    case json::kind::bool_:
        out += value.get_bool() ? "true" : "false";
        return;
    case json::kind::int64:
        return add_number(out, value.get_int64());
    case json::kind::uint64:
        return add_number(out, value.get_uint64());
    case json::kind::double_:
        return add_real(out, value.get_double());
    case json::kind::string:
        return add_string(out, {value.get_string().data(), value.get_string().size()});
    case json::kind::array: {
        char before = '[';
        for (const auto& item : value.get_array()) {
            out += std::exchange(before, ',');
            add(out, item);
        }
        out += before == '[' ? "[]" : "]";
        return;
    }
    case json::kind::object: {
        char before = '{';
        for (const auto& member : value.get_object()) {
            out += std::exchange(before, ',');
            add_string(out, {member.key().data(), member.key().size()});
            out += ':';
            add(out, member.value());
        }
        out += before == '{' ? "{}" : "}";
        return;
    }
    }
}

} // namespace

std::string json_text(const json::value& value) {
    std::string out;
    add(out, value);
    return out;
}

} // namespace holdfast::json
