#include "memory/text/list_words.hpp"

#include "base/utf8.hpp"
#include "memory/text/letters.hpp"

#include <algorithm>
#include <array>

namespace holdfast::memory {

namespace {

constexpr std::size_t most_wanted = 64;

// `alone`: a run of one character, or the last one of a longer run.
using OnPart =
    std::function<void(std::string_view word, std::size_t begin, std::size_t end, bool unspaced, bool alone)>;

// The small form of an ASCII letter or digit; 0 for every other byte.
constexpr auto plain_letters = [] {
    std::array<char, 256> table{};
    for (char c = '0'; c <= '9'; ++c)
        table.at(static_cast<unsigned char>(c)) = c;
    for (char c = 'a'; c <= 'z'; ++c)
        table.at(static_cast<unsigned char>(c)) = table.at(static_cast<unsigned char>(c - 'a' + 'A')) = c;
    return table;
}();

// Reads the word at `at` when it is plain ASCII, as most are, and moves `at` behind it. Otherwise changes
// nothing.
bool read_plain_word(std::string_view text, std::size_t& at, std::string& word) {
    const auto letter = [&](std::size_t i) { return plain_letters[static_cast<unsigned char>(text[i])]; };
    auto end = at;
    while (end < text.size() && letter(end) != 0)
        ++end;
    // What follows may be a letter of the word, or a mark on its last one.
    if (end == at || (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80))
        return false;
    word.resize(end - at);
    for (std::size_t i = at; i < end; ++i)
        word[i - at] = letter(i);
    at = end;
    return true;
}

// Words and pairs, and behind each run of pairs its last character.
void parts(std::string_view text, const OnPart& on_part) {
    std::string word;
    for (std::size_t at = 0; at < text.size();) {
        if (const auto start = at; read_plain_word(text, at, word)) {
            on_part(word, start, at, false, true);
            continue;
        }
        const auto begin = at;
        auto next = at;
        const auto script = script_of(base::decode_utf8(text, next));
        if (script == Script::none) {
            at = next;
            continue;
        }
        const bool unspaced = script == Script::unspaced;
        word.clear();
        std::size_t last = begin;  // where the last character begins
        std::size_t last_size = 0; // and its bytes in `word`
        while (at < text.size()) {
            next = at;
            const auto code = base::decode_utf8(text, next);
            const auto following = script_of(code);
            if (following == Script::none ? !is_mark(code) : (following == Script::unspaced) != unspaced)
                break;
            if (is_mark(code)) {
                at = next;
                continue;
            }
            const auto here = at;
            const auto letter = read_letter(text, at);
            if (unspaced) {
                std::string sign;
                base::append_utf8(sign, letter);
                if (last_size > 0) {
                    word.erase(0, word.size() - last_size);
                    word += sign;
                    on_part(word, last, at, true, false);
                } else {
                    word = sign;
                }
                last = here;
                last_size = sign.size();
            } else if (const auto letters = spelled_out(letter); !letters.empty()) {
                word += letters;
            } else {
                base::append_utf8(word, base_letter(letter));
            }
        }
        if (unspaced)
            on_part(std::string_view(word).substr(word.size() - last_size), last, at, true, true);
        else if (!word.empty())
            on_part(word, begin, at, false, true);
    }
}

} // namespace

void list_words(std::string_view text, const OnWord& on_word) {
    parts(text, [&](std::string_view word, std::size_t begin, std::size_t end, bool, bool) {
        on_word(word, begin, end);
    });
}

std::vector<WantedWord> wanted_words(std::string_view typed) {
    std::vector<WantedWord> wanted;
    bool pairs = false; // of the run that is being read
    parts(typed, [&](std::string_view word, std::size_t, std::size_t end, bool unspaced, bool alone) {
        const bool behind_pairs = unspaced && alone && pairs;
        pairs = unspaced && !alone;
        if (behind_pairs)
            return; // the last pair holds it, and more goes on behind it as well
        // A character alone may be the first one of a pair.
        const bool open_ended = unspaced ? alone : end == typed.size();
        if (wanted.size() < most_wanted && std::ranges::none_of(wanted, [&](const WantedWord& known) {
                return known.word == word && known.open_ended == open_ended;
            }))
            wanted.push_back({std::string(word), open_ended});
    });
    return wanted;
}

bool has_words(std::string_view text, const std::vector<WantedWord>& wanted) {
    std::vector<bool> found(wanted.size());
    list_words(text, [&](std::string_view word, std::size_t, std::size_t) {
        for (std::size_t i = 0; i < wanted.size(); ++i)
            found[i] = found[i] ||
                       (wanted[i].open_ended ? word.starts_with(wanted[i].word) : word == wanted[i].word);
    });
    return std::ranges::all_of(found, [](bool one) { return one; });
}

} // namespace holdfast::memory
