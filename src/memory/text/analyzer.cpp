#include "memory/text/analyzer.hpp"

#include "base/utf8.hpp"

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

std::uint64_t word_term(std::string_view stem, Language language) noexcept {
    constexpr std::uint64_t tag = 31;
    static_assert(language_count <= tag + 1);
    return (term_hash(TermKind::word, stem) & ~tag) | static_cast<std::uint64_t>(language);
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

// So many stop words make a text one of that language. The reading of a text need only be the likeliest; but
// a question loses its words to it.
constexpr unsigned votes_for_language = 2;
constexpr unsigned votes_for_stop_words = 3;

bool is_apostrophe(char32_t code) noexcept {
    return code == '\'' || code == 0x2019;
}

// Where ä may be written ae: in German, and in a note too short to tell its language.
bool spells_umlauts(Language language) noexcept {
    return language == Language::german || language == Language::english;
}

// Ankara'dan, İzmir'e: Turkish parts a name from its ending by an apostrophe. The name's length in bytes; 0
// when there is none, or what follows is English (they're, couldn't) or the name too short to be one
// (L'Aquila).
std::uint32_t name_before_apostrophe(std::string_view word) {
    constexpr std::size_t shortest = 3;
    for (std::size_t at = 0; at < word.size();) {
        const auto begin = at;
        if (!is_apostrophe(base::decode_utf8(word, at)))
            continue;
        constexpr std::string_view english[] = {"s", "t", "re", "ve", "ll", "d", "m"};
        const bool ending = std::ranges::find(english, word.substr(at)) == std::end(english);
        return begin >= shortest && ending ? static_cast<std::uint32_t>(begin) : 0;
    }
    return 0;
}

} // namespace

void Analyzer::lower(std::string_view text, std::string& out) const {
    out.clear();
    for (std::size_t at = 0; at < text.size();) {
        const char32_t code = read_letter(text, at);
        if (is_apostrophe(code))
            out += '\'';
        else if (const auto letters = spelled_out(code); !letters.empty())
            out += letters;
        else if (!is_mark(code))
            base::append_utf8(out, code);
    }
}

// Cuts the text into runs of one kind: words (letters and digits of spaced scripts) and unspaced runs.
void Analyzer::split(std::string_view text) {
    pieces_.clear();
    bool sentence_start = true;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        char32_t code = base::decode_utf8(text, at);
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
            code = base::decode_utf8(text, next);
            const Script following = script_of(code);
            if (following == Script::none) {
                // An apostrophe inside a word belongs to it: don't, l'eau.
                std::size_t after = next;
                const bool inside = is_apostrophe(code) && next < text.size() && letters &&
                                    script_of(base::decode_utf8(text, after)) == Script::latin;
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

std::string_view Analyzer::read_word(std::string_view word) {
    lower(word, lower_);
    if (lower_.size() > 64)
        lower_.resize(64); // no word is longer; a blob without blanks must not cost memory in the index
    std::string_view read = lower_;
    if (read.ends_with("'s"))
        read.remove_suffix(2);
    return without_elision(read);
}

std::string_view Analyzer::spelled(std::string_view word) {
    spelled_.clear();
    bool any = false;
    for (std::size_t at = 0; at < word.size();) {
        const auto code = base::decode_utf8(word, at);
        const char base = code == 0xe4 ? 'a' : code == 0xf6 ? 'o' : code == 0xfc ? 'u' : 0;
        any |= base != 0;
        if (base != 0)
            (spelled_ += base) += 'e';
        else
            base::append_utf8(spelled_, code);
    }
    return any ? std::string_view(spelled_) : std::string_view();
}

std::uint64_t Analyzer::stemmed(std::string_view word, Language language) {
    const auto stem = stemmers_.stem(word, language);
    bare_.clear();
    for (std::size_t at = 0; at < stem.size();)
        base::append_utf8(bare_, base_letter(base::decode_utf8(stem, at)));
    return word_term(bare_, language);
}

void Analyzer::add_word(std::string_view text, const Piece& piece, Languages languages, std::uint32_t number,
                        std::vector<Term>& terms) {
    const auto word = read_word(text.substr(piece.begin, piece.end - piece.begin));
    // A number is the same in every language.
    const auto hash = piece.script == Script::digit ? word_term(word, Language::english)
                                                    : stemmed(word, languages.of_stems);
    terms.push_back({.hash = hash,
                     .kind = TermKind::word,
                     .stop = is_stop_word(lower_, languages.of_stop_words),
                     .name = piece.upper_first && !piece.sentence_start,
                     .begin = piece.begin,
                     .end = piece.end,
                     .word = number});
    if (spells_umlauts(languages.of_stems) && !spelled(word).empty())
        terms.push_back({.hash = stemmed(spelled_, languages.of_stems),
                         .kind = TermKind::word,
                         .part = true,
                         .begin = piece.begin,
                         .end = piece.end,
                         .word = number});
}

// C++, C#, F#: names of a letter or two that the signs behind them make another name.
void Analyzer::add_signed_name(std::string_view text, const Piece& piece, std::uint32_t number,
                               std::vector<Term>& terms) {
    const auto behind = text.substr(piece.end);
    const std::size_t signs = behind.starts_with("++") ? 2 : behind.starts_with('#') ? 1 : 0;
    if (signs == 0 || piece.end - piece.begin > 2 || piece.script != Script::latin)
        return;
    if (std::size_t next = signs;
        next < behind.size() && script_of(base::decode_utf8(behind, next)) != Script::none)
        return;
    lower(text.substr(piece.begin, piece.end - piece.begin + signs), lower_);
    terms.push_back({.hash = term_hash(TermKind::whole, lower_),
                     .kind = TermKind::whole,
                     .begin = piece.begin,
                     .end = piece.end,
                     .word = number});
}

void Analyzer::other_readings(std::string_view text, const Term& word, std::vector<std::uint64_t>& hashes) {
    const auto letters = text.substr(word.begin, word.end - word.begin);
    auto script = Script::digit;
    for (std::size_t at = 0; at < letters.size() && script == Script::digit;)
        script = script_of(base::decode_utf8(letters, at));
    if (script != Script::latin)
        return;
    const auto read = read_word(letters);
    if (word.part) {
        if (!spelled(read).empty())
            for (const auto language : {Language::english, Language::german})
                if (const auto hash = stemmed(spelled_, language); hash != word.hash)
                    hashes.push_back(hash);
        return;
    }
    for (std::size_t language = 0; language < latin_language_count; ++language)
        if (const auto hash = stemmed(read, static_cast<Language>(language)); hash != word.hash)
            hashes.push_back(hash);
}

void Analyzer::add_pairs(std::string_view text, const Piece& piece, std::uint32_t number,
                         std::vector<Term>& terms) {
    const auto add = [&](TermKind kind, std::string_view signs, std::size_t begin, std::size_t end, bool stop,
                         bool part) {
        terms.push_back({.hash = term_hash(kind, signs),
                         .kind = kind,
                         .stop = stop,
                         .part = part,
                         .begin = static_cast<std::uint32_t>(begin),
                         .end = static_cast<std::uint32_t>(end),
                         .word = number});
    };
    std::size_t previous = piece.begin;
    std::size_t sign = 0; // where the last one begins in bare_, behind the one before it
    bare_.clear();
    for (std::size_t at = piece.begin; at < piece.end;) {
        const std::size_t begin = at;
        const auto code = read_letter(text, at);
        bare_.erase(0, sign);
        sign = bare_.size();
        base::append_utf8(bare_, code);
        const std::string_view signs = bare_;
        const bool alone = begin == piece.begin && at >= piece.end;
        if (is_word_sign(code))
            add(TermKind::single, signs.substr(sign), begin, at, is_stop_sign(code), !alone);
        else if (alone)
            add(TermKind::pair, signs, begin, at, false, false);
        if (begin > piece.begin)
            add(TermKind::pair, signs, previous, at, false, false);
        previous = begin;
    }
}

void Analyzer::add_identifier(std::string_view text, std::uint32_t begin, std::uint32_t end,
                              std::uint32_t number, std::vector<Term>& terms) {
    lower(text.substr(begin, end - begin), lower_);
    if (lower_.size() < 3)
        return;
    if (lower_.size() > 128)
        lower_.resize(128);
    const auto add = [&](TermKind kind, std::string_view letters) {
        terms.push_back(
            {.hash = term_hash(kind, letters), .kind = kind, .begin = begin, .end = end, .word = number});
    };
    add(TermKind::whole, lower_);
    // Triples find an identifier by a piece of it. Bounded: a path of 100 characters is found by its
    // first 32.
    std::erase_if(lower_, joins_identifier);
    for (std::size_t i = 0; i + 3 <= lower_.size() && i < 32; ++i)
        add(TermKind::gram, std::string_view(lower_).substr(i, 3));
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
    const Languages latin{vote.winner(votes_for_language), vote.winner(votes_for_stop_words)};
    std::uint32_t number = terms.empty() ? 0 : terms.back().word + 1;
    for (std::size_t i = 0; i < pieces_.size(); ++i, ++number) {
        const auto piece = pieces_[i];
        if (piece.script == Script::unspaced) {
            add_pairs(text, piece, number, terms);
            continue;
        }
        const auto main = language_of(piece.script);
        const auto languages = piece.script == Script::latin ? latin : Languages{main, main};
        add_word(text, piece, languages, number, terms);
        add_signed_name(text, piece, number, terms);
        if (const auto name = name_before_apostrophe(text.substr(piece.begin, piece.end - piece.begin));
            piece.upper_first && name > 0)
            add_word(text, {piece.begin, piece.begin + name, piece.script, true, false, piece.sentence_start},
                     languages, number, terms);
        // getUserName also as get, user, name.
        if (piece.identifier) {
            std::uint32_t start = piece.begin;
            for (std::uint32_t at = piece.begin + 1; at <= piece.end; ++at) {
                const bool cut = at == piece.end || (is_upper(static_cast<unsigned char>(text[at])) &&
                                                     !is_upper(static_cast<unsigned char>(text[at - 1])));
                if (!cut)
                    continue;
                if (start != piece.begin || at != piece.end)
                    add_word(text, {start, at, piece.script, false, false, false}, languages, number, terms);
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
