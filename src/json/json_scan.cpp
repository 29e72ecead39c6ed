#include "json/json_scan.hpp"

#include "base/hex.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace holdfast::json {

namespace {

constexpr std::size_t npos = std::string_view::npos;

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
    while (at < text.size() && is_blank(text[at]))
        ++at;
    return at;
}

// Eight bytes at a time: is there a quote, a backslash or a control character among them?
bool is_plain_block(const char* bytes) {
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    constexpr std::uint64_t highs = 0x8080808080808080ULL;
    std::uint64_t block = 0;
    std::memcpy(&block, bytes, sizeof block);
    const auto has_zero = [](std::uint64_t word) { return (word - ones) & ~word & highs; };
    const std::uint64_t control = (block - ones * 0x20) & ~block & highs;
    return (control | has_zero(block ^ (ones * '"')) | has_zero(block ^ (ones * '\\'))) == 0;
}

// `at` is behind the opening quote; returns the place behind the closing one.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (;;) {
        while (at + 8 <= text.size() && is_plain_block(text.data() + at))
            at += 8;
        if (at >= text.size())
            return npos;
        const char c = text[at];
        if (c == '"')
            return at + 1;
        if (static_cast<unsigned char>(c) < 0x20)
            return npos;
        if (c != '\\') {
            ++at;
            continue;
        }
        if (at + 1 >= text.size())
            return npos;
        const char escape = text[at + 1];
        at += 2;
        if (escape == 'u') {
            for (int i = 0; i < 4; ++i, ++at)
                if (at >= text.size() || base::hex_value(text[at]) < 0)
                    return npos;
        } else if (std::string_view("\"\\/bfnrt").find(escape) == npos) {
            return npos;
        }
    }
}

std::size_t end_of_digits(std::string_view text, std::size_t at) {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at]))
        ++at;
    return at == from ? npos : at;
}

std::size_t end_of_number(std::string_view text, std::size_t at) {
    if (text[at] == '-')
        ++at;
    if (at < text.size() && text[at] == '0')
        ++at;
    else if (at = end_of_digits(text, at); at == npos)
        return npos;
    if (at < text.size() && text[at] == '.') {
        if (at = end_of_digits(text, at + 1); at == npos)
            return npos;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '+' || text[at] == '-'))
            ++at;
        at = end_of_digits(text, at);
    }
    return at;
}

std::size_t end_of_scalar(std::string_view text, std::size_t at) {
    const auto word = [&](std::string_view name) {
        return text.substr(at, name.size()) == name ? at + name.size() : npos;
    };
    switch (text[at]) {
    case '"':
        return end_of_string(text, at + 1);
    case 't':
        return word("true");
    case 'f':
        return word("false");
    case 'n':
        return word("null");
    default:
        return text[at] == '-' || is_digit(text[at]) ? end_of_number(text, at) : npos;
    }
}

// Behind the colon of a member whose key starts at `at`.
std::size_t end_of_key(std::string_view text, std::size_t at) {
    at = skip_blanks(text, at);
    if (at >= text.size() || text[at] != '"')
        return npos;
    at = end_of_string(text, at + 1);
    if (at == npos)
        return npos;
    at = skip_blanks(text, at);
    return at < text.size() && text[at] == ':' ? at + 1 : npos;
}

// Which brackets are open: a bit each, so that depth costs no recursion, and up to max_depth no allocation.
class Nesting {
public:
    void push(bool object) {
        const std::size_t word = depth_ / 64;
        if (word == bits_.size() + deeper_.size())
            deeper_.push_back(0);
        const std::uint64_t bit = 1ULL << (depth_ % 64);
        std::uint64_t& bits = word < bits_.size() ? bits_[word] : deeper_[word - bits_.size()];
        bits = object ? bits | bit : bits & ~bit;
        ++depth_;
        deepest_ = std::max(deepest_, depth_);
    }
    void pop() { --depth_; }
    [[nodiscard]] bool empty() const { return depth_ == 0; }
    [[nodiscard]] bool in_object() const {
        const std::size_t word = (depth_ - 1) / 64;
        const std::uint64_t bits = word < bits_.size() ? bits_[word] : deeper_[word - bits_.size()];
        return (bits >> ((depth_ - 1) % 64) & 1) != 0;
    }
    [[nodiscard]] bool was_too_deep() const { return deepest_ > max_depth; }

private:
    std::array<std::uint64_t, max_depth / 64> bits_; // only what lies below depth_ is ever read
    std::vector<std::uint64_t> deeper_;
    std::size_t depth_ = 0;
    std::size_t deepest_ = 0;
};

// Where a value ends that opens at least one bracket.
std::size_t end_of_nested(std::string_view text, std::size_t at, Nesting& nesting) {
    bool value_expected = true; // otherwise a value has just ended
    for (;;) {
        at = skip_blanks(text, at);
        if (at >= text.size())
            return npos;
        if (value_expected) {
            const char c = text[at];
            if (c != '{' && c != '[') {
                at = end_of_scalar(text, at);
                if (at == npos)
                    return npos;
                value_expected = false;
                continue;
            }
            const bool object = c == '{';
            nesting.push(object);
            at = skip_blanks(text, at + 1);
            if (at < text.size() && text[at] == (object ? '}' : ']'))
                value_expected = false; // an empty one: closed below
            else if (object && (at = end_of_key(text, at)) == npos)
                return npos;
            continue;
        }
        const bool object = nesting.in_object();
        if (text[at] == (object ? '}' : ']')) {
            ++at;
            nesting.pop();
            if (nesting.empty())
                return at;
        } else if (text[at] == ',') {
            ++at;
            value_expected = true;
            if (object && (at = end_of_key(text, at)) == npos)
                return npos;
        } else {
            return npos;
        }
    }
}

} // namespace

Extent extent_of_value(std::string_view text, std::size_t at) noexcept {
    at = skip_blanks(text, at);
    if (at >= text.size())
        return {};
    if (text[at] != '{' && text[at] != '[')
        return {.end = end_of_scalar(text, at)};
    Nesting nesting;
    const std::size_t end = end_of_nested(text, at, nesting);
    return {.end = end, .too_deep = nesting.was_too_deep()};
}

std::size_t end_of_value(std::string_view text, std::size_t at) noexcept {
    const Extent extent = extent_of_value(text, at);
    return extent.too_deep ? npos : extent.end;
}

bool is_json(std::string_view text) noexcept {
    const std::size_t end = end_of_value(text, 0);
    return end != npos && skip_blanks(text, end) == text.size();
}

ObjectReader::ObjectReader(std::string_view text) noexcept
    : text_(text) {}

bool ObjectReader::stop(State state) noexcept {
    state_ = state;
    return false;
}

bool ObjectReader::next() noexcept {
    if (state_ == State::complete || state_ == State::broken)
        return false;
    at_ = skip_blanks(text_, at_);
    if (at_ >= text_.size())
        return stop(State::broken);
    const auto finish = [this] {
        return stop(skip_blanks(text_, at_ + 1) == text_.size() ? State::complete : State::broken);
    };
    if (state_ == State::first) {
        if (text_[at_] != '{')
            return stop(State::broken);
        at_ = skip_blanks(text_, at_ + 1);
        if (at_ < text_.size() && text_[at_] == '}')
            return finish();
    } else {
        if (text_[at_] == '}')
            return finish();
        if (text_[at_] != ',')
            return stop(State::broken);
        at_ = skip_blanks(text_, at_ + 1);
    }
    state_ = State::more;
    const std::size_t behind_colon = end_of_key(text_, at_);
    if (behind_colon == npos)
        return stop(State::broken);
    key_ = text_.substr(at_ + 1, end_of_string(text_, at_ + 1) - at_ - 2);
    const std::size_t from = skip_blanks(text_, behind_colon);
    const Extent extent = extent_of_value(text_, from);
    at_ = extent.end;
    if (at_ == npos)
        return stop(State::broken);
    too_deep_ = too_deep_ || extent.too_deep;
    value_ = text_.substr(from, at_ - from);
    return true;
}

} // namespace holdfast::json
