// Tokens that say what they are by how they begin.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace holdfast::memory {

struct FoundSecret {
    std::size_t length = 0; // 0: none
    std::string_view kind;
};

// The token at the beginning of `text`, which begins a word.
FoundSecret known_token(std::string_view text);

// Digits enough, or digits among letters of both cases, as nobody writes them.
bool made_by_machine(std::string_view token);

// A-Z a-z 0-9 _ -. A table: it is asked several times for each character of a text.
inline constexpr auto token_chars = [] {
    std::array<bool, 256> table{};
    for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"))
        table.at(static_cast<unsigned char>(c)) = true;
    return table;
}();
constexpr bool is_token_char(char c) {
    return token_chars[static_cast<unsigned char>(c)];
}

// How many characters in a row from `at` on are accepted.
template <class Accept>
std::size_t run_of(std::string_view text, std::size_t at, Accept accept) {
    std::size_t end = at;
    while (end < text.size() && accept(text[end]))
        ++end;
    return end - at;
}
inline std::size_t token_run(std::string_view text, std::size_t at) {
    return run_of(text, at, [](char c) { return is_token_char(c); });
}

} // namespace holdfast::memory
