// Tokens that say what they are by how they begin.
#pragma once

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

bool is_token_char(char c);                                                      // A-Z a-z 0-9 _ -
std::size_t run_of(std::string_view text, std::size_t at, bool (*accept)(char)); // how many in a row

} // namespace holdfast::memory
