// Writes JSON text straight into a string, for what is written often: a tree of values is built and thrown
// away for nothing. Keys are plain words of ours; what stands in a string is escaped.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::json {

class JsonWriter {
public:
    JsonWriter();
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
    void string(std::string_view value);
    template <std::integral Number>
    void number(Number value) {
        std::array<char, 24> digits;
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        text_.append(digits.data(), end);
    }

    std::string text_;
};

} // namespace holdfast::json
