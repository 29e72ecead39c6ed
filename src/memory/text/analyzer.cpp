#include "memory/text/analyzer.hpp"

#include <algorithm>

namespace holdfast::memory {

std::uint64_t term_hash(TermKind kind, std::string_view letters) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325ULL ^ (static_cast<std::uint64_t>(kind) * 0x9e3779b97f4a7c15ULL);
    for (const char c : letters)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    // FNV alone leaves the high bits of short words alike; the dictionary is searched by all of them.
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93ULL;
    return hash ^ (hash >> 29);
}

std::uint64_t day_term(int year, int month, int day) noexcept {
    return term_hash(TermKind::day, std::to_string(year * 10000 + month * 100 + day));
}

std::uint64_t month_term(int year, int month) noexcept {
    return term_hash(TermKind::month, std::to_string(year * 100 + month));
}

namespace {

bool joins_identifier(char c) noexcept {
    return c == '_' || c == '.' || c == '-' || c == '/' || c == ':' || c == '@' || c == '#' || c == '\\';
}

bool is_apostrophe(char32_t code) noexcept {
    return code == '\'' || code == 0x2019;
}

} // namespace

void Analyzer::lower(std::string_view text, std::string& out) const {
    out.clear();
    for (std::size_t at = 0; at < text.size();) {
        const char32_t code = decode(text, at);
        if (is_apostrophe(code))
            out += '\'';
        else if (!is_mark(code))
            encode(to_lower(code), out);
    }
}

// Cuts the text into runs of one kind: words (letters and digits of spaced scripts) and unspaced runs.
void Analyzer::split(std::string_view text) {
    pieces_.clear();
    bool sentence_start = true;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        char32_t code = decode(text, at);
        Script script = script_of(code);
        if (script == Script::none) {
            if (code == '.' || code == '!' || code == '?' || code == '\n' || code == ':')
                sentence_start = true;
            continue;
        }
        Piece piece{static_cast<std::uint32_t>(begin), 0, script, is_upper(code), false, sentence_start};
        sentence_start = false;
        bool digits = script == Script::digit;
        bool letters = !digits;
        bool lower_seen = letters && !piece.upper_first;
        while (at < text.size()) {
            std::size_t next = at;
            code = decode(text, next);
            const Script following = script_of(code);
            if (following == Script::none) {
                // An apostrophe inside a word belongs to it: don't, l'eau.
                std::size_t after = next;
                const bool inside = is_apostrophe(code) && next < text.size() && letters &&
                                    script_of(decode(text, after)) == Script::latin;
                if (!is_mark(code) && !inside)
                    break;
            } else if ((following == Script::unspaced) != (piece.script == Script::unspaced)) {
                break;
            } else if (following == Script::digit) {
                digits = true;
            } else {
                letters = true;
                if (piece.script == Script::digit)
                    piece.script = following;
                if (is_upper(code))
                    piece.identifier |= lower_seen;
                else
                    lower_seen = true;
            }
            at = next;
        }
        piece.identifier |= digits && letters && piece.script != Script::unspaced;
        piece.end = static_cast<std::uint32_t>(at);
        pieces_.push_back(piece);
    }
}

void Analyzer::add_word(std::string_view text, const Piece& piece, Language language, std::uint32_t number,
                        std::vector<Term>& terms) {
    lower(text.substr(piece.begin, piece.end - piece.begin), lower_);
    if (lower_.size() > 64)
        lower_.resize(64); // no word is longer; a blob without blanks must not cost memory in the index
    Term term{0,
              TermKind::word,
              is_stop_word(lower_, language),
              piece.upper_first && !piece.sentence_start,
              piece.begin,
              piece.end,
              number};
    std::string_view word = lower_;
    if (word.ends_with("'s"))
        word.remove_suffix(2);
    if (language == Language::french || language == Language::italian || language == Language::catalan)
        if (const auto elided = word.find('\''); elided <= 2)
            word.remove_prefix(elided + 1);
    const auto stem = piece.script == Script::digit ? word : stemmers_.stem(word, language);
    bare_.clear();
    for (std::size_t at = 0; at < stem.size();)
        encode(base_letter(decode(stem, at)), bare_);
    term.hash = term_hash(TermKind::word, bare_);
    terms.push_back(term);
}

void Analyzer::add_pairs(std::string_view text, const Piece& piece, std::uint32_t number,
                         std::vector<Term>& terms) {
    std::size_t previous = piece.begin;
    std::size_t at = piece.begin;
    (void)decode(text, at);
    if (at >= piece.end) {
        terms.push_back({term_hash(TermKind::pair, text.substr(previous, at - previous)), TermKind::pair,
                         false, false, piece.begin, piece.end, number});
        return;
    }
    while (at < piece.end) {
        const std::size_t middle = at;
        (void)decode(text, at);
        terms.push_back({term_hash(TermKind::pair, text.substr(previous, at - previous)), TermKind::pair,
                         false, false, static_cast<std::uint32_t>(previous), static_cast<std::uint32_t>(at),
                         number});
        previous = middle;
    }
}

void Analyzer::add_identifier(std::string_view text, std::uint32_t begin, std::uint32_t end,
                              std::uint32_t number, std::vector<Term>& terms) {
    lower(text.substr(begin, end - begin), lower_);
    if (lower_.size() < 3)
        return;
    if (lower_.size() > 128)
        lower_.resize(128);
    terms.push_back({term_hash(TermKind::whole, lower_), TermKind::whole, false, false, begin, end, number});
    // Triples find an identifier by a piece of it. Bounded: a path of 100 characters is found by its
    // first 32.
    std::erase_if(lower_, joins_identifier);
    for (std::size_t i = 0; i + 3 <= lower_.size() && i < 32; ++i)
        terms.push_back({term_hash(TermKind::gram, std::string_view(lower_).substr(i, 3)), TermKind::gram,
                         false, false, begin, end, number});
}

void Analyzer::analyze(std::string_view text, std::vector<Term>& terms, std::size_t limit) {
    if (text.size() > limit)
        text = text.substr(0, limit);
    split(text);
    LanguageVote vote;
    for (std::size_t i = 0; i < pieces_.size() && i < 200; ++i)
        if (pieces_[i].script == Script::latin) {
            lower(text.substr(pieces_[i].begin, pieces_[i].end - pieces_[i].begin), lower_);
            vote.see(lower_);
        }
    const Language latin = vote.winner();
    std::uint32_t number = terms.empty() ? 0 : terms.back().word + 1;
    for (std::size_t i = 0; i < pieces_.size(); ++i, ++number) {
        const auto piece = pieces_[i];
        if (piece.script == Script::unspaced) {
            add_pairs(text, piece, number, terms);
            continue;
        }
        const auto language = piece.script == Script::latin ? latin : language_of(piece.script);
        add_word(text, piece, language, number, terms);
        // getUserName also as get, user, name.
        if (piece.identifier) {
            std::uint32_t start = piece.begin;
            for (std::uint32_t at = piece.begin + 1; at <= piece.end; ++at) {
                const bool cut = at == piece.end || (is_upper(static_cast<unsigned char>(text[at])) &&
                                                     !is_upper(static_cast<unsigned char>(text[at - 1])));
                if (!cut)
                    continue;
                if (start != piece.begin || at != piece.end)
                    add_word(text, {start, at, piece.script, false, false, false}, language, number, terms);
                start = at;
            }
        }
        // foo_bar.cpp: pieces joined by one sign are one identifier.
        std::size_t last = i;
        bool joined = piece.identifier;
        while (last + 1 < pieces_.size() && pieces_[last + 1].begin == pieces_[last].end + 1 &&
               joins_identifier(text[pieces_[last].end]) && last - i < 8) {
            ++last;
            joined = true;
        }
        const bool inside =
            i > 0 && piece.begin == pieces_[i - 1].end + 1 && joins_identifier(text[piece.begin - 1]);
        if (joined && !inside)
            add_identifier(text, piece.begin, pieces_[last].end, number, terms);
    }
}

} // namespace holdfast::memory
