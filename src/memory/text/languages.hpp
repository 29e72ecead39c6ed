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

// Words that carry grammar and no content, lower case. `word` in any of its languages.
bool is_stop_word(std::string_view word, Language language) noexcept;

// Languages in Latin letters share them, so words tell: each stop word of a language is a vote, English wins
// a tie.
class LanguageVote {
public:
    void see(std::string_view lower_word) noexcept;
    [[nodiscard]] Language winner() const noexcept;

private:
    std::array<std::uint16_t, language_count> votes_{};
};

// For the scripts that have one main language; English for Latin letters (where LanguageVote decides).
Language language_of(Script script) noexcept;

// The stemmers of all languages, made when first asked for. Not for two threads at once.
class Stemmers {
public:
    Stemmers() = default;
    Stemmers(const Stemmers&) = delete;
    Stemmers& operator=(const Stemmers&) = delete;
    ~Stemmers();
    // Valid until the next call.
    std::string_view stem(std::string_view lower_word, Language language);

private:
    std::array<sb_stemmer*, language_count> stemmers_{};
};

} // namespace holdfast::memory
