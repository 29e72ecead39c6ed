// JSON as text: the one writer. On one line; numbers with a fraction keep its sign, so that they are read
// again as what they were; a number that JSON has no word for (infinity) is null.
//
// Text for a terminal goes through base::printable_json afterwards, which escapes what would steer the
// terminal.
#pragma once

#include "json/json.hpp"
#include "json/json_string.hpp"

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::json {

// 0.5 and 1.0, as people write them; or 5E-1 and 1E0, the form in which a memory stores and compares them. It
// must not change: fingerprints and namespaces of stores are made of it.
enum class Fractions : bool { plain, stored };
// Members as they stand, or by their names: then two values that mean the same are the same text.
enum class Members : bool { in_order, sorted };

struct Style {
    Bytes bytes = Bytes::kept;
    Fractions fractions = Fractions::plain;
    Members members = Members::in_order;
};

// A value is at most as deep as the parser took it: who builds one keeps to that.
std::string to_text(const value& what, Style style = {});

json::array to_array(const std::vector<std::string>& texts);

// Writes text at once, for what is written often: a tree of values would be built and thrown away for
// nothing. Keys are plain words of ours; strings keep their bytes.
class Writer {
public:
    Writer();
    void open();                     // the object itself
    void open(std::string_view key); // an object in it
    void close();
    void field(std::string_view key, std::string_view value);
    void field(std::string_view key, const std::vector<std::string>& values);
    template <std::same_as<bool> Bool>
    void field(std::string_view key, Bool value) {
        name(key);
        text_ += value ? "true" : "false";
    }
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    void field(std::string_view key, Number value) {
        name(key);
        number(value);
    }
    template <std::integral Number>
    void field(std::string_view key, const std::vector<Number>& values) {
        name(key);
        text_ += '[';
        for (const Number value : values) {
            separate();
            number(value);
        }
        text_ += ']';
    }
    [[nodiscard]] std::string take() &&;

private:
    void separate();
    void name(std::string_view key);
    template <std::integral Number>
    void number(Number value) {
        std::array<char, 24> digits;
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        text_.append(digits.data(), end);
    }

    std::string text_;
};

} // namespace holdfast::json
