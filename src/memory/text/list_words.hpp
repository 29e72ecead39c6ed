// The words of a text as lists are searched by them: as they are written, so that a beginning finds them, in
// small letters without marks. Scripts without blanks between words (Chinese, Japanese, Thai …) and Korean go
// by pairs of neighbouring characters, and the last one of a run also alone: so each character begins a word.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

using OnWord = std::function<void(std::string_view word, std::size_t begin, std::size_t end)>;

// Calls it for each word in order, with its place in the text in bytes.
void list_words(std::string_view text, const OnWord& on_word);

// What a person typed: all its words are to be there, and one that is open-ended as a beginning.
struct WantedWord {
    std::string word;
    bool open_ended = false;
};
// At most 64 different words. The last one is open-ended unless something follows it.
std::vector<WantedWord> wanted_words(std::string_view typed);

// Whether the text has all of them.
bool has_words(std::string_view text, const std::vector<WantedWord>& wanted);

} // namespace holdfast::memory
