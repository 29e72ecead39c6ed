// The text side of recall: terms of questions and documents, snippets.
#include "base/utf8.hpp"
#include "memory/recall/recall.hpp"

#include "base/text.hpp"
#include "memory/text/dates.hpp"
#include "memory/text/letters.hpp"

#include <algorithm>
#include <set>

namespace holdfast::memory {

using base::cat;

namespace {

float weight_of(const Term& term) {
    switch (term.kind) {
    case TermKind::gram:
        return 0.15F; // many of them make up one identifier
    case TermKind::pair:
        return 0.7F; // two pairs make up about one word
    case TermKind::single:
        return term.part ? 0.2F : 0.7F; // part of a question, it finds what the pairs around it do not
    default:
        return term.part ? 0.5F : 1.0F; // a word spelled in another way
    }
}

constexpr std::size_t most_words = 64;       // of a question: words, identifiers, and pairs of characters
constexpr std::size_t most_grams = 128;      // of its identifiers
constexpr std::size_t most_asked = 8 * 1024; // bytes of a question
constexpr std::size_t most_text = 64 * 1024; // bytes of a trace
constexpr std::int64_t longest_by_day = 8;   // a longer span is told by its months
constexpr std::int64_t longest_asked = 16;   // and asked for by them: two weeks still by their days

// The words in a JSON value: its strings, without the names of members.
void append_json_words(std::string_view json, std::string& out, std::size_t limit) {
    const auto stop = out.size() + limit;
    for (std::size_t at = 0; at < json.size() && out.size() < stop;) {
        if (json[at] != '"') {
            ++at;
            continue;
        }
        const std::size_t begin = ++at;
        while (at < json.size() && json[at] != '"')
            at += json[at] == '\\' ? 2U : 1U;
        const auto end = std::min(at, json.size());
        at = end + 1;
        if (at < json.size() && json[at] == ':')
            continue;
        out += ' ';
        for (std::size_t i = begin; i < end && out.size() < stop; ++i) {
            if (json[i] == '\\') {
                ++i; // an escape stands for a sign or a blank: neither is part of a word
                out += ' ';
            } else {
                out += json[i];
            }
        }
    }
}

// Of a longer question the beginning and the end: what is asked stands in front of what was pasted, or behind
// it.
std::string both_ends(std::string_view text, std::size_t most) {
    if (text.size() <= most)
        return std::string(text);
    const auto end = base::boundary_behind(text, text.size() - most / 2);
    return cat(base::cut_at_character(text, most / 2), "\n", text.substr(end));
}

// The same with words.
void keep_both_ends(std::vector<Term>& terms, std::size_t most) {
    const auto counts = [](const Term& term) {
        return !term.stop && !term.part && term.kind != TermKind::gram;
    };
    const auto words = static_cast<std::size_t>(std::ranges::count_if(terms, counts));
    if (words <= most)
        return;
    std::size_t number = 0;
    std::erase_if(terms, [&](const Term& term) {
        const bool out = number >= most / 2 && number < words - most / 2;
        number += static_cast<std::size_t>(counts(term));
        return out;
    });
}

} // namespace

std::string searched_text(std::string_view user, std::string_view agent) {
    // A short one leaves its share to the other.
    const auto half = most_text / 2;
    const auto of_user =
        base::cut_at_character(user, std::max(half, most_text - std::min(agent.size(), most_text)));
    const auto of_agent = base::cut_at_character(agent, most_text - std::min(of_user.size(), most_text));
    return of_user.empty() ? std::string(of_agent)
           : agent.empty() ? std::string(of_user)
                           : cat(of_user, "\n", of_agent);
}

std::string searched_details(std::string_view reflection, std::string_view tags,
                             std::string_view tool_calls) {
    std::string text(base::cut_at_character(reflection, 16 * 1024));
    append_json_words(tags, text, 1024);
    append_json_words(tool_calls, text, 4096);
    return text;
}

std::vector<QueryTerm> query_terms(Analyzer& analyzer, std::string_view given, std::int64_t now_ms) {
    std::vector<Term> terms;
    const auto text = both_ends(given, most_asked);
    analyzer.analyze(text, terms, text.size());
    keep_both_ends(terms, most_words);
    const auto dates = find_dates(text, local_day(now_ms), Said::asked);
    const bool content =
        !dates.empty() || std::ranges::any_of(terms, [](const Term& term) { return !term.stop; });
    std::vector<QueryTerm> query;
    std::vector<std::uint64_t> readings;
    std::set<std::uint64_t> seen;
    std::uint32_t group = 0;
    std::uint64_t whole = 0; // of the identifier whose triples follow
    std::size_t grams = 0;
    for (const auto& term : terms) {
        if (term.kind == TermKind::whole)
            whole = term.hash;
        if ((content && term.stop) || (term.kind == TermKind::gram && ++grams > most_grams) ||
            !seen.insert(term.hash).second)
            continue;
        // Triples are for an identifier that is not there as it was asked for.
        const auto weight = weight_of(term);
        if (term.kind == TermKind::word && term.part && group > 0)
            --group; // the same word, spelled in another way
        query.push_back({term.hash, weight, group, term.kind == TermKind::gram ? whole : 0});
        readings.clear();
        if (term.kind == TermKind::word)
            analyzer.other_readings(text, term, readings);
        for (const auto reading : readings)
            if (seen.insert(reading).second)
                query.push_back({.term = reading, .weight = weight, .group = group, .variant = true});
        ++group;
    }
    for (const auto& mention : dates) {
        if (mention.last_day - mention.first_day < longest_asked) {
            for (auto day = mention.first_day; day <= mention.last_day; ++day) {
                const auto date = civil_from_days(day);
                query.push_back({day_term(date.year, date.month, date.day), 1.0F, group});
            }
            ++group;
        }
        // The month too: what was said of a day is often said some days later.
        auto date = civil_from_days(mention.first_day);
        const auto last = civil_from_days(mention.last_day);
        for (int months = 0; months < 12; ++months) {
            query.push_back({month_term(date.year, date.month), 1.0F, group});
            if (date.year == last.year && date.month == last.month)
                break;
            date =
                date.month == 12 ? CivilDate{date.year + 1, 1, 1} : CivilDate{date.year, date.month + 1, 1};
        }
        ++group;
    }
    return query;
}

void document_terms(Analyzer& analyzer, std::string_view text, std::int64_t ts,
                    std::vector<std::uint64_t>& terms) {
    thread_local std::vector<Term> found;
    found.clear();
    analyzer.analyze(text, found, text.size());
    for (const auto& term : found)
        terms.push_back(term.hash);
    const auto today = local_day(ts);
    const auto said = civil_from_days(today);
    terms.push_back(day_term(said.year, said.month, said.day));
    terms.push_back(month_term(said.year, said.month));
    for (const auto& mention : find_dates(text.substr(0, most_text), today)) {
        if (mention.last_day - mention.first_day >= longest_by_day)
            continue;
        for (auto day = mention.first_day; day <= mention.last_day; ++day) {
            const auto date = civil_from_days(day);
            terms.push_back(day_term(date.year, date.month, date.day));
        }
        if (const auto date = civil_from_days(mention.first_day);
            date.year != said.year || date.month != said.month)
            terms.push_back(month_term(date.year, date.month));
    }
}

Snippet snippet_of(Analyzer& analyzer, std::string_view text, const std::vector<QueryTerm>& query,
                   std::size_t length, std::vector<std::uint64_t>* terms_of_text) {
    thread_local std::vector<Term> terms;
    terms.clear();
    analyzer.analyze(text, terms, text.size());
    std::vector<std::uint64_t> wanted;
    for (const auto& term : query)
        wanted.push_back(term.term);
    std::ranges::sort(wanted);
    struct Match {
        std::uint32_t begin;
        std::uint32_t end;
        std::size_t term; // which of the wanted
    };
    std::vector<Match> matches;
    for (const auto& term : terms) {
        if (terms_of_text != nullptr)
            terms_of_text->push_back(term.hash);
        if (const auto found = std::ranges::lower_bound(wanted, term.hash);
            found != wanted.end() && *found == term.hash)
            matches.push_back({term.begin, term.end, static_cast<std::size_t>(found - wanted.begin())});
    }
    std::size_t begin = 0;
    if (text.size() > length && !matches.empty()) {
        std::ranges::stable_sort(matches, {}, &Match::begin); // an identifier's come behind its parts
        // The window with the most different terms; the earliest of equals.
        std::vector<std::uint32_t> inside(wanted.size());
        const auto within = length * 3 / 4 - std::min<std::size_t>(8, length / 4); // and the sign behind it
        std::size_t different = 0;
        std::size_t most = 0;
        std::size_t ahead = 0;
        for (const auto& match : matches) {
            for (; ahead < matches.size() && matches[ahead].end <= match.begin + within; ++ahead)
                different += static_cast<std::size_t>(inside[matches[ahead].term]++ == 0);
            if (different > most) {
                most = different;
                begin = match.begin;
            }
            different -= static_cast<std::size_t>(--inside[match.term] == 0);
        }
        // Some words before the match, for its sense.
        const auto match_at = begin;
        begin = begin > length / 4 ? begin - length / 4 : 0;
        begin = std::min(begin, text.size() - length);
        if (begin > 0)
            if (const auto blank = text.find_first_of(" \n\t", begin);
                blank != text.npos && blank < match_at && blank - begin < length / 4)
                begin = blank + 1;
    }
    begin = base::boundary_behind(text, begin);
    std::size_t end = std::min(text.size(), begin + length);
    if (end < text.size()) {
        if (const auto blank = text.find_last_of(" \n\t", end);
            blank != text.npos && blank > begin + length / 2)
            end = blank;
        end = base::boundary_before(text, end); // not before `begin`, which is one
    }
    Snippet snippet{"", !matches.empty()};
    if (begin > 0)
        snippet.text += "…";
    snippet.text += text.substr(begin, end - begin);
    if (end < text.size())
        snippet.text += "…";
    return snippet;
}

} // namespace holdfast::memory
