#include "json/json_write.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast::json {

namespace {

constexpr std::size_t usual_length = 2048; // of a record

std::string_view view(string_view text) {
    return {text.data(), text.size()};
}

template <class Number>
void add_number(std::string& out, Number number) {
    std::array<char, 40> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    out.append(text.data(), end);
}

void add_plain_fraction(std::string& out, double number) {
    const auto from = out.size();
    add_number(out, number);
    if (out.find_first_of(".e", from) == out.npos)
        out += ".0";
}

// The shortest digits that are read as the same number, one of them before the point, and an exponent that is
// as short.
void add_stored_fraction(std::string& out, double number) {
    std::array<char, 40> text;
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific).ptr;
    const std::string_view all(text.data(), static_cast<std::size_t>(end - text.data()));
    const auto e = all.find('e');
    out += all.substr(0, e);
    out += 'E';
    auto exponent = all.substr(e + 1);
    if (exponent.front() == '-')
        out += '-';
    exponent.remove_prefix(1); // its sign is always there
    out += exponent.substr(std::min(exponent.find_first_not_of('0'), exponent.size() - 1));
}

// Writes values into one text.
class Text {
public:
    Text(std::string& out, Style style)
        : out_(out)
        , style_(style) {}

    // NOLINTNEXTLINE(misc-no-recursion): as deep as the value
    void add(const value& one) {
        switch (one.kind()) {
        case kind::null:
            out_ += "null";
            return;
        case kind::bool_:
            out_ += one.get_bool() ? "true" : "false";
            return;
        case kind::int64:
            return add_number(out_, one.get_int64());
        case kind::uint64:
            return add_number(out_, one.get_uint64());
        case kind::double_:
            return add_fraction(one.get_double());
        case kind::string:
            return append_string(out_, view(one.get_string()), style_.bytes);
        case kind::array: {
            char before = '[';
            for (const auto& item : one.get_array()) {
                out_ += std::exchange(before, ',');
                add(item);
            }
            out_ += before == '[' ? "[]" : "]";
            return;
        }
        case kind::object:
            return add_members(one.get_object());
        }
    }

private:
    void add_fraction(double number) {
        if (!std::isfinite(number))
            out_ += "null";
        else if (style_.fractions == Fractions::plain)
            add_plain_fraction(out_, number);
        else
            add_stored_fraction(out_, number);
    }

    // NOLINTNEXTLINE(misc-no-recursion): as deep as the value
    void add_members(const object& members) {
        char before = '{';
        const auto put = [&](const auto& member) {
            out_ += std::exchange(before, ',');
            append_string(out_, view(member.key()), style_.bytes);
            out_ += ':';
            add(member.value());
        };
        if (style_.members == Members::in_order) {
            for (const auto& member : members)
                put(member);
        } else {
            std::vector<object::const_iterator> sorted;
            sorted.reserve(members.size());
            for (auto member = members.begin(); member != members.end(); ++member)
                sorted.push_back(member);
            std::ranges::sort(sorted, {}, [](auto member) { return view(member->key()); });
            for (const auto& member : sorted)
                put(*member);
        }
        out_ += before == '{' ? "{}" : "}";
    }

    std::string& out_;
    Style style_;
};

} // namespace

std::string to_text(const value& what, Style style) {
    std::string out;
    Text(out, style).add(what);
    return out;
}

json::array to_array(const std::vector<std::string>& texts) {
    json::array out;
    out.reserve(texts.size());
    for (const std::string& text : texts)
        out.emplace_back(text);
    return out;
}

Writer::Writer() {
    text_.reserve(usual_length);
}

void Writer::open() {
    text_ += '{';
}

void Writer::open(std::string_view key) {
    name(key);
    open();
}

void Writer::close() {
    text_ += '}';
}

void Writer::field(std::string_view key, std::string_view value) {
    name(key);
    append_string(text_, value, Bytes::kept);
}

void Writer::field(std::string_view key, const std::vector<std::string>& values) {
    name(key);
    text_ += '[';
    for (const std::string& value : values) {
        separate();
        append_string(text_, value, Bytes::kept);
    }
    text_ += ']';
}

std::string Writer::take() && {
    return std::move(text_);
}

void Writer::separate() {
    if (const char last = text_.back(); last != '{' && last != '[')
        text_ += ',';
}

void Writer::name(std::string_view key) {
    separate();
    text_ += '"';
    text_ += key;
    text_ += "\":";
}

} // namespace holdfast::json
