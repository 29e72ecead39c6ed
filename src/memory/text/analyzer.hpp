// From text to terms. A term is a 64-bit number: the hash of its letters and of what kind of term it is.
//
//   words        lower case, stemmed in the language of the text, then without marks (é -> e)
//   CJK, Thai …  pairs of neighbouring characters
//   identifiers  getUserName, foo_bar.cpp, ABC-123: the whole, its parts, and triples of its characters
//   dates        what a date or "last Tuesday" in the text means, as a day and a month (dates.hpp)
#pragma once

#include "memory/text/languages.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

enum class TermKind : std::uint8_t { word, pair, whole, gram, day, month };

struct Term {
    std::uint64_t hash = 0;
    TermKind kind = TermKind::word;
    bool stop = false;       // a word without content in the text's language
    bool name = false;       // written with a capital inside a sentence
    std::uint32_t begin = 0; // where in the text, in bytes
    std::uint32_t end = 0;
    std::uint32_t word = 0; // number of the word it came from: terms of one word belong together
};

std::uint64_t term_hash(TermKind kind, std::string_view letters) noexcept;
std::uint64_t day_term(int year, int month, int day) noexcept;
std::uint64_t month_term(int year, int month) noexcept;

// Keeps buffers and stemmers; not for two threads at once.
class Analyzer {
public:
    // Appends the terms of the text. At most `limit` bytes of it are looked at.
    void analyze(std::string_view text, std::vector<Term>& terms, std::size_t limit = 64 * 1024);

private:
    struct Piece {
        std::uint32_t begin, end;
        Script script;
        bool upper_first; // begins with a capital
        bool
            identifier; // has a capital inside, a digit beside letters, or is joined by _ . - / : to the next
        bool sentence_start;
    };
    void split(std::string_view text);
    void add_word(std::string_view text, const Piece& piece, Language language, std::uint32_t number,
                  std::vector<Term>& terms);
    void add_pairs(std::string_view text, const Piece& piece, std::uint32_t number, std::vector<Term>& terms);
    void add_identifier(std::string_view text, std::uint32_t begin, std::uint32_t end, std::uint32_t number,
                        std::vector<Term>& terms);
    void lower(std::string_view text, std::string& out) const;

    Stemmers stemmers_;
    std::vector<Piece> pieces_;
    std::string lower_;
    std::string bare_;
};

} // namespace holdfast::memory
