// The text side of recall: terms of questions and documents, snippets.
#include "memory/recall/recall.hpp"

#include "core/text.hpp"
#include "memory/text/dates.hpp"

#include <algorithm>
#include <set>

namespace holdfast::memory {

using core::cat;

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
        return 1.0F;
    }
}

constexpr std::uint32_t most_terms = 64;   // of a question, a word in all its readings being one
constexpr std::int64_t longest_by_day = 8; // a longer span is told by its months
constexpr std::int64_t longest_asked = 16; // and asked for by them: two weeks still by their days

} // namespace

std::vector<QueryTerm> query_terms(Analyzer& analyzer, std::string_view text, std::int64_t now_ms) {
    std::vector<Term> terms;
    analyzer.analyze(text, terms, 8 * 1024);
    const auto dates = find_dates(text.substr(0, 8 * 1024), local_day(now_ms), Said::asked);
    const bool content =
        !dates.empty() || std::ranges::any_of(terms, [](const Term& term) { return !term.stop; });
    std::vector<QueryTerm> query;
    std::vector<std::uint64_t> readings;
    std::set<std::uint64_t> seen;
    std::uint32_t group = 0;
    std::uint64_t whole = 0; // of the identifier whose triples follow
    for (const auto& term : terms) {
        if (term.kind == TermKind::whole)
            whole = term.hash;
        if ((content && term.stop) || group >= most_terms || !seen.insert(term.hash).second)
            continue;
        // Triples are for an identifier that is not there as it was asked for.
        const auto weight = weight_of(term);
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
    analyzer.analyze(text, found);
    for (const auto& term : found)
        terms.push_back(term.hash);
    const auto today = local_day(ts);
    const auto said = civil_from_days(today);
    terms.push_back(day_term(said.year, said.month, said.day));
    terms.push_back(month_term(said.year, said.month));
    for (const auto& mention : find_dates(text.substr(0, 16 * 1024), today)) {
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

std::string snippet_of(Analyzer& analyzer, std::string_view text, const std::vector<QueryTerm>& query,
                       std::size_t length, std::vector<std::uint64_t>* terms_of_text) {
    thread_local std::vector<Term> terms;
    terms.clear();
    analyzer.analyze(text, terms);
    std::vector<std::uint64_t> wanted;
    for (const auto& term : query)
        wanted.push_back(term.term);
    std::ranges::sort(wanted);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> matches;
    for (const auto& term : terms) {
        if (terms_of_text != nullptr)
            terms_of_text->push_back(term.hash);
        if (std::ranges::binary_search(wanted, term.hash))
            matches.emplace_back(term.begin, term.hash);
    }
    std::size_t begin = 0;
    if (text.size() > length && !matches.empty()) {
        // The window with the most different terms; the earliest of equals.
        std::size_t most = 0;
        std::size_t ahead = 0;
        for (std::size_t i = 0; i < matches.size(); ++i) {
            std::set<std::uint64_t> inside;
            for (ahead = i;
                 ahead < matches.size() && matches[ahead].first < matches[i].first + length * 3 / 4; ++ahead)
                inside.insert(matches[ahead].second);
            if (inside.size() > most) {
                most = inside.size();
                begin = matches[i].first;
            }
            if (i > 200)
                break;
        }
        // Some words before the match, for its sense.
        begin = begin > length / 4 ? begin - length / 4 : 0;
        begin = std::min(begin, text.size() - length);
        if (begin > 0)
            if (const auto blank = text.find_first_of(" \n\t", begin);
                blank != text.npos && blank - begin < length / 4)
                begin = blank + 1;
    }
    while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80)
        ++begin;
    std::size_t end = std::min(text.size(), begin + length);
    if (end < text.size()) {
        if (const auto blank = text.find_last_of(" \n\t", end);
            blank != text.npos && blank > begin + length / 2)
            end = blank;
        while (end > begin && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
            --end;
    }
    std::string snippet;
    if (begin > 0)
        snippet += "…";
    snippet += text.substr(begin, end - begin);
    if (end < text.size())
        snippet += "…";
    return snippet;
}

} // namespace holdfast::memory
