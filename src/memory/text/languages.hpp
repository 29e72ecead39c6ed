// Languages: which one a text is in, its words without weight, and its stems.
#pragma once

#include "memory/text/letters.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sb_stemmer;

namespace holdfast::memory {

enum class Language : std::uint8_t {
    english,
    german,
    french,
    spanish,
    portuguese,
    italian,
    dutch,
    swedish,
    danish,
    norwegian,
    finnish,
    hungarian,
    romanian,
    turkish,
    catalan,
    indonesian,
    greek,
    russian,
    armenian,
    arabic,
    hindi,
    tamil,
    yiddish,
    count
};
constexpr std::size_t language_count = static_cast<std::size_t>(Language::count);
// The languages in Latin letters come first.
constexpr std::size_t latin_language_count = static_cast<std::size_t>(Language::indonesian) + 1;

// Words that carry grammar and no content, lower case. `word` in any of its languages.
bool is_stop_word(std::string_view word, Language language) noexcept;

// Han characters of grammar rather than content.
bool is_stop_sign(char32_t code) noexcept;

// Languages in Latin letters share them, so words tell: each stop word of a language is a vote. A few votes
// prove little, since most stop words are words with content somewhere else (Dutch "door", German "hat").
class LanguageVote {
public:
    void see(std::string_view lower_word) noexcept;
    // The language with the most votes, when it has at least `least` and more than English; else English.
    // Letters with marks (é, ş), which English does without, count as one more.
    [[nodiscard]] Language winner(unsigned least) const noexcept;

private:
    std::array<std::uint16_t, language_count> votes_{};
    bool marks_ = false;
};

// The word without an article or preposition that was elided before it: l'eau, dell'acqua, j'ai. The same in
// every language, so that a text and a question that were taken for different ones still meet.
std::string_view without_elision(std::string_view lower_word) noexcept;

// For the scripts that have one main language; English for Latin letters (where LanguageVote decides).
Language language_of(Script script) noexcept;

// The stemmers of all languages, made when first asked for. Not for two threads at once.
class Stemmers {
public:
    Stemmers() = default;
    Stemmers(const Stemmers&) = delete;
    Stemmers& operator=(const Stemmers&) = delete;
    ~Stemmers();
    // Valid until the next call for that language.
    std::string_view stem(std::string_view lower_word, Language language);

private:
    std::array<sb_stemmer*, language_count> stemmers_{};
};

} // namespace holdfast::memory
