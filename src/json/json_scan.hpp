// JSON as text: the one scanner. It finds the members of a message, and whether a piece of text is one
// well-formed value. Nothing is built in memory: routing needs ids and names, while parameters and results go
// through untouched, and who only scans links no parser.
//
// The grammar is RFC 8259 to the letter. A value that is nested deeper than `max_depth` is told apart from
// one that is no JSON: whoever asked for it can be told so. Encoding is a separate question (base::is_utf8).
#pragma once

#include <cstddef>
#include <string_view>

namespace holdfast::json {

inline constexpr std::size_t max_depth = 1024;

struct Extent {
    std::size_t end = std::string_view::npos; // behind the value; npos when there is no well-formed one
    bool too_deep = false;                    // nested deeper than max_depth
};
// Of the value that starts at `at` (blanks allowed before it), however deep it is nested.
Extent extent_of_value(std::string_view text, std::size_t at) noexcept;

// Where that value ends; npos when there is no well-formed one, or one that is nested too deep.
std::size_t end_of_value(std::string_view text, std::size_t at) noexcept;

// Is the whole text one value, with nothing but blanks around it?
bool is_json(std::string_view text) noexcept;

// Goes through the members of an object in their order. The views point into the text.
//
//     ObjectReader reader(text);
//     while (reader.next()) use(reader.key(), reader.value());
//     if (!reader.complete()) ... // not an object, or broken after the members already seen
class ObjectReader {
public:
    explicit ObjectReader(std::string_view text) noexcept;
    bool next() noexcept;
    [[nodiscard]] std::string_view key() const noexcept { return key_; } // without quotes, escapes as written
    [[nodiscard]] std::string_view value() const noexcept { return value_; } // as written
    // The object ended, and only blanks followed.
    [[nodiscard]] bool complete() const noexcept { return state_ == State::complete; }
    // One of the values up to here is nested deeper than max_depth.
    [[nodiscard]] bool too_deep() const noexcept { return too_deep_; }

private:
    enum class State { first, more, complete, broken };
    bool stop(State state) noexcept;

    std::string_view text_;
    std::string_view key_;
    std::string_view value_;
    std::size_t at_ = 0;
    State state_ = State::first;
    bool too_deep_ = false;
};

} // namespace holdfast::json
