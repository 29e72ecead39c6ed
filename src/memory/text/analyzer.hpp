// From text to terms. A term is a 64-bit number: the hash of its letters and of what kind of term it is.
//
//   words        lower case, stemmed in the language of the text, then without marks (é -> e). The term also
//                says which language that was, so a stem of one language is never taken for another's
//   CJK, Thai …  pairs of neighbouring characters; characters that can be words (Han, Korean) also alone
//   identifiers  getUserName, foo_bar.cpp, ABC-123: the whole, its parts, and triples of its characters; C++
//                and C# as the whole
//   dates        what a date or "last Tuesday" in the text means, as a day and a month (dates.hpp)
#pragma once

#include "memory/text/languages.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

enum class TermKind : std::uint8_t { word, pair, whole, gram, day, month, single };

struct Term {
    std::uint64_t hash = 0;
    TermKind kind = TermKind::word;
    bool stop = false; // a word without content in the text's language
    bool part = false; // other terms say the same more exactly: a single character out of pairs, or how a
                       // word with ä, ö, ü is written without them
    bool name = false; // written with a capital inside a sentence
    std::uint32_t begin = 0; // where in the text, in bytes
    std::uint32_t end = 0;
    std::uint32_t word = 0; // number of the word it came from: terms of one word belong together
};

std::uint64_t term_hash(TermKind kind, std::string_view letters) noexcept;
// A stem of a language. Languages that give a word the same stem have terms beside each other: looking a word
// up in all of them costs little more than in one.
std::uint64_t word_term(std::string_view stem, Language language) noexcept;
std::uint64_t day_term(int year, int month, int day) noexcept;
std::uint64_t month_term(int year, int month) noexcept;

// Keeps buffers and stemmers; not for two threads at once.
class Analyzer {
public:
    // Appends the terms of the text. At most `limit` bytes of it are looked at.
    void analyze(std::string_view text, std::vector<Term>& terms, std::size_t limit = 64 * 1024);
    // The terms that a word of a question has in texts of the other languages in Latin letters. A question of
    // two words does not tell its language, and need not have the language of what it asks for.
    void other_readings(std::string_view text, const Term& word, std::vector<std::uint64_t>& hashes);

private:
    struct Piece {
        std::uint32_t begin, end;
        Script script;
        bool upper_first; // begins with a capital
        bool
            identifier; // has a capital inside, a digit beside letters, or is joined by _ . - / : to the next
        bool sentence_start;
    };
    struct Languages {
        Language of_stems;
        Language of_stop_words; // only one that is certain
    };
    void split(std::string_view text);
    void add_word(std::string_view text, const Piece& piece, Languages languages, std::uint32_t number,
                  std::vector<Term>& terms);
    void add_pairs(std::string_view text, const Piece& piece, std::uint32_t number, std::vector<Term>& terms);
    void add_identifier(std::string_view text, std::uint32_t begin, std::uint32_t end, std::uint32_t number,
                        std::vector<Term>& terms);
    void add_signed_name(std::string_view text, const Piece& piece, std::uint32_t number,
                         std::vector<Term>& terms);
    void lower(std::string_view text, std::string& out) const;
    // The word as it is stemmed, in lower_: short enough, without its possessive and what is elided before
    // it.
    std::string_view read_word(std::string_view word);
    std::uint64_t stemmed(std::string_view word, Language language);
    // Müller as Mueller, in spelled_; empty when there is nothing to spell.
    std::string_view spelled(std::string_view word);

    Stemmers stemmers_;
    std::vector<Piece> pieces_;
    std::string lower_;
    std::string bare_;
    std::string spelled_;
};

} // namespace holdfast::memory
