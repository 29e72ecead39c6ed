#include "memory/text/dates.hpp"

#include "memory/text/letters.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <ctime>
#include <optional>
#include <string>

namespace holdfast::memory {

std::int64_t days_from_civil(CivilDate date) noexcept {
    // March-based years: the leap day is then the last day of a year, and no month needs a case of its own.
    const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t shifted = date.month > 2 ? date.month - 3 : date.month + 9;
    const std::int64_t day_of_year = (153 * shifted + 2) / 5 + date.day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

CivilDate civil_from_days(std::int64_t days) noexcept {
    days += 719468;
    const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const std::int64_t day_of_era = days - era * 146097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted = (5 * day_of_year + 2) / 153;
    const auto month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
    return {static_cast<int>(year_of_era + era * 400 + (month <= 2 ? 1 : 0)), month,
            static_cast<int>(day_of_year - (153 * shifted + 2) / 5 + 1)};
}

std::int64_t local_day(std::int64_t ts_ms) noexcept {
    const auto seconds = static_cast<std::time_t>(ts_ms / 1000);
    std::tm local{};
    if (::localtime_r(&seconds, &local) == nullptr)
        return ts_ms / 86'400'000;
    return days_from_civil({local.tm_year + 1900, local.tm_mon + 1, local.tm_mday});
}

namespace {

struct Word {
    std::string text; // lower case
    std::uint32_t begin, end;
    int number = -1; // its value, when it is a number
    bool after_space = true;
    bool capital = false;
};

// How many bytes the letter, digit or mark there has; 0 when it is something else.
std::size_t letter_at(std::string_view text, std::size_t at) {
    const auto begin = at;
    const auto code = decode(text, at);
    return script_of(code) != Script::none || (code >= 0x80 && is_mark(code)) ? at - begin : 0;
}

std::vector<Word> words_of(std::string_view text) {
    std::vector<Word> words;
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
        // Typographic quotes, apostrophes and dashes part words as the plain ones do.
        if (const auto length = letter_at(text, at); length == 0) {
            (void)decode(text, at);
            continue;
        }
        const std::size_t begin = at;
        const bool digits = std::isdigit(byte(at)) != 0;
        Word word{"", static_cast<std::uint32_t>(begin), 0, -1, true, std::isupper(byte(at)) != 0};
        while (at < text.size()) {
            const auto length = letter_at(text, at);
            if (length == 0 || (length == 1 && (std::isdigit(byte(at)) != 0) != digits))
                break;
            for (const auto end = at + length; at < end; ++at)
                word.text += static_cast<char>(std::tolower(byte(at)));
        }
        word.end = static_cast<std::uint32_t>(at);
        if (digits) {
            int value = 0;
            if (word.text.size() <= 4 &&
                std::from_chars(word.text.data(), word.text.data() + word.text.size(), value).ec ==
                    std::errc{})
                word.number = value;
            // 3rd, 21st: the ending is no word of its own.
            const auto ending = text.substr(at, 2);
            if (ending == "st" || ending == "nd" || ending == "rd" || ending == "th")
                at += 2;
        }
        words.push_back(std::move(word));
    }
    return words;
}

struct Named {
    std::string_view name;
    int value;
};

// "mar", "may" and "sep" alone are words of other languages or other meanings; a month by a short name needs
// company (a day or a year), which month_at() asks for.
constexpr Named months[] = {
    {"january", 1},   {"february", 2},   {"march", 3},      {"april", 4},     {"may", 5},
    {"june", 6},      {"july", 7},       {"august", 8},     {"september", 9}, {"october", 10},
    {"november", 11}, {"december", 12},  {"januar", 1},     {"februar", 2},   {"märz", 3},
    {"mai", 5},       {"juni", 6},       {"juli", 7},       {"oktober", 10},  {"dezember", 12},
    {"janvier", 1},   {"février", 2},    {"mars", 3},       {"avril", 4},     {"juin", 6},
    {"juillet", 7},   {"août", 8},       {"septembre", 9},  {"octobre", 10},  {"novembre", 11},
    {"décembre", 12}, {"enero", 1},      {"febrero", 2},    {"marzo", 3},     {"abril", 4},
    {"mayo", 5},      {"junio", 6},      {"julio", 7},      {"agosto", 8},    {"septiembre", 9},
    {"octubre", 10},  {"noviembre", 11}, {"diciembre", 12}, {"janeiro", 1},   {"fevereiro", 2},
    {"março", 3},     {"maio", 5},       {"junho", 6},      {"julho", 7},     {"setembro", 9},
    {"outubro", 10},  {"novembro", 11},  {"dezembro", 12},  {"gennaio", 1},   {"febbraio", 2},
    {"aprile", 4},    {"maggio", 5},     {"giugno", 6},     {"luglio", 7},    {"settembre", 9},
    {"ottobre", 10},  {"dicembre", 12},  {"januari", 1},    {"februari", 2},  {"maart", 3},
    {"mei", 5},       {"augustus", 8},
};
constexpr Named short_months[] = {{"jan", 1}, {"feb", 2}, {"mar", 3},  {"apr", 4},  {"jun", 6},  {"jul", 7},
                                  {"aug", 8}, {"sep", 9}, {"sept", 9}, {"oct", 10}, {"nov", 11}, {"dec", 12}};
// Months whose name is also another word: with a capital they still need a preposition.
constexpr std::array ambiguous_months = {"may", "march", "mars", "mai", "mei"};
constexpr std::array italian_months = {"gennaio", "febbraio", "marzo",     "aprile",  "maggio",   "giugno",
                                       "luglio",  "agosto",   "settembre", "ottobre", "novembre", "dicembre"};
constexpr Named weekdays[] = {
    {"monday", 0},    {"tuesday", 1},  {"wednesday", 2}, {"thursday", 3}, {"friday", 4},     {"saturday", 5},
    {"sunday", 6},    {"montag", 0},   {"dienstag", 1},  {"mittwoch", 2}, {"donnerstag", 3}, {"freitag", 4},
    {"samstag", 5},   {"sonntag", 6},  {"lundi", 0},     {"mardi", 1},    {"mercredi", 2},   {"jeudi", 3},
    {"vendredi", 4},  {"samedi", 5},   {"dimanche", 6},  {"lunes", 0},    {"martes", 1},     {"miércoles", 2},
    {"jueves", 3},    {"viernes", 4},  {"sábado", 5},    {"domingo", 6},  {"lunedì", 0},     {"martedì", 1},
    {"mercoledì", 2}, {"giovedì", 3},  {"venerdì", 4},   {"sabato", 5},   {"domenica", 6},   {"maandag", 0},
    {"dinsdag", 1},   {"woensdag", 2}, {"donderdag", 3}, {"vrijdag", 4},  {"zaterdag", 5},   {"zondag", 6},
};
// Which third of a month.
constexpr Named thirds[] = {{"early", 0}, {"mid", 1},    {"late", 2},       {"beginning", 0}, {"start", 0},
                            {"end", 2},   {"middle", 1}, {"anfang", 0},     {"mitte", 1},     {"ende", 2},
                            {"début", 0}, {"fin", 2},    {"principios", 0}, {"finales", 2},   {"inizio", 0},
                            {"fine", 2},  {"begin", 0},  {"eind", 2}};
constexpr Named numbers[] = {{"a", 1},     {"an", 1},     {"one", 1},  {"two", 2}, {"three", 3},
                             {"four", 4},  {"couple", 2}, {"five", 5}, {"six", 6}, {"seven", 7},
                             {"eight", 8}, {"nine", 9},   {"ten", 10}, {"few", 3}};

template <std::size_t n>
int value_of(const Named (&list)[n], std::string_view name) {
    for (const auto& entry : list)
        if (entry.name == name)
            return entry.value;
    return -1;
}

int days_in(int year, int month) {
    return static_cast<int>(days_from_civil({month == 12 ? year + 1 : year, month == 12 ? 1 : month + 1, 1}) -
                            days_from_civil({year, month, 1}));
}

class Finder {
public:
    Finder(std::string_view text, std::int64_t today, Said said)
        : text_(text)
        , words_(words_of(text))
        , today_(today)
        , said_(said) {}

    std::vector<DateMention> run() {
        for (at_ = 0; at_ < words_.size();) {
            used_ = 0;
            if (auto days = match()) {
                found_.push_back({days->first, days->second, words_[at_].begin, words_[at_ + used_ - 1].end});
                at_ += used_;
            } else {
                ++at_;
            }
        }
        return std::move(found_);
    }

private:
    using Days = std::optional<std::pair<std::int64_t, std::int64_t>>;

    [[nodiscard]] std::string_view word(std::size_t ahead) const {
        return at_ + ahead < words_.size() ? std::string_view(words_[at_ + ahead].text) : std::string_view();
    }
    [[nodiscard]] int number(std::size_t ahead) const {
        return at_ + ahead < words_.size() ? words_[at_ + ahead].number : -1;
    }
    [[nodiscard]] bool is_year(std::size_t ahead) const {
        return number(ahead) >= 1900 && number(ahead) < 2200;
    }
    [[nodiscard]] bool is_day(std::size_t ahead) const { return number(ahead) >= 1 && number(ahead) <= 31; }
    [[nodiscard]] int month(std::size_t ahead) const {
        const int full = value_of(months, word(ahead));
        return full > 0 ? full : value_of(short_months, word(ahead));
    }
    Days take(std::size_t used, std::int64_t first, std::int64_t last) {
        used_ = used;
        return std::pair(first, last);
    }
    Days take_month(std::size_t used, int year, int month_number) {
        const auto first = days_from_civil({year, month_number, 1});
        return take(used, first, first + days_in(year, month_number) - 1);
    }
    // The nearest year in which that day is not after today.
    [[nodiscard]] int past_year(int month_number, int day) const {
        const int year = civil_from_days(today_).year;
        return days_from_civil({year, month_number, day}) > today_ ? year - 1 : year;
    }

    Days match() {
        if (auto days = absolute())
            return days;
        return relative();
    }

    Days absolute() {
        // 2023-05-03
        if (is_year(0) && number(1) >= 1 && number(1) <= 12 && is_day(2) &&
            words_[at_ + 1].begin == words_[at_].end + 1 && words_[at_ + 2].begin == words_[at_ + 1].end + 1)
            return one_day(3, number(0), number(1), number(2));
        // 3.5.2023; with slashes nobody knows which one is the month
        if (is_day(0) && number(1) >= 1 && number(1) <= 12 && is_year(2) && joined_by_dot(0) &&
            joined_by_dot(1))
            return one_day(3, number(2), number(1), number(0));
        // 3 May 2023, 3 May, the 3rd of May
        const std::size_t of = word(1) == "of" || word(1) == "de" ? 1 : 0;
        if (is_day(0) && month(1 + of) > 0) {
            const int m = month(1 + of);
            const std::size_t gap = word(2 + of) == "de" ? 1 : 0;
            if (is_year(2 + of + gap))
                return one_day(3 + of + gap, number(2 + of + gap), m, number(0));
            return one_day(2 + of, past_year(m, number(0)), m, number(0));
        }
        if (const int m = month(0); m > 0) {
            if (is_day(1) && is_day(2) && number(2) > number(1) && joined_by_dash(1)) {
                const bool with_year = is_year(3); // May 10-12, 2023
                const int year = with_year ? number(3) : past_year(m, number(1));
                const auto first = days_from_civil({year, m, std::min(number(1), days_in(year, m))});
                return take(with_year ? 4 : 3, first,
                            days_from_civil({year, m, std::min(number(2), days_in(year, m))}));
            }
            if (is_day(1) && is_year(2))
                return one_day(3, number(2), m, number(1)); // May 3, 2023
            if (is_year(1))
                return take_month(2, number(1), m); // May 2023
            if (is_day(1))
                return one_day(2, past_year(m, number(1)), m, number(1)); // May 3
            if (value_of(months, word(0)) > 0 && word(1) == "last" && word(2) == "year")
                return take_month(3, civil_from_days(today_).year - 1, m); // May last year
            if (stands_for_month())
                return take_month(1, past_year(m, 1), m);
        }
        if (auto days = third_of_month())
            return days;
        if (is_year(0) && preceded_by_preposition())
            return take(1, days_from_civil({number(0), 1, 1}), days_from_civil({number(0), 12, 31}));
        return std::nullopt;
    }

    [[nodiscard]] bool joined_by_dot(std::size_t ahead) const {
        const auto end = words_[at_ + ahead].end;
        return words_[at_ + ahead + 1].begin == end + 1 && text_[end] == '.';
    }

    [[nodiscard]] bool joined_by_dash(std::size_t ahead) const {
        const auto end = words_[at_ + ahead].end;
        const auto between = text_.substr(end, words_[at_ + ahead + 1].begin - end);
        return between == "-" || between == "–";
    }

    Days one_day(std::size_t used, int year, int month_number, int day) {
        const auto days = days_from_civil({year, month_number, std::min(day, days_in(year, month_number))});
        return take(used, days, days);
    }

    // The name of a month alone, without a day or a year: written as a name, or in small letters (as it is
    // typed in haste, and always written in many languages) behind a preposition.
    [[nodiscard]] bool stands_for_month() const {
        const bool full = value_of(months, word(0)) > 0;
        if (full && words_[at_].capital && (!is_ambiguous(0) || preceded_by_preposition()))
            return true;
        if (at_ == 0)
            return false;
        const std::string_view before = words_[at_ - 1].text;
        constexpr std::array english = {"in", "since", "during", "until"};
        constexpr std::array others = {"im", "en", "em", "nel", "seit", "sinds", "depuis", "desde"};
        if (std::ranges::find(english, before) != english.end())
            return true; // a short name, too: in feb
        if (full && std::ranges::find(others, before) != others.end())
            return true;
        // Italian says "a maggio"; in English "a" stands before anything.
        return before == "a" && std::ranges::find(italian_months, word(0)) != italian_months.end();
    }
    [[nodiscard]] bool is_ambiguous(std::size_t ahead) const {
        return std::ranges::find(ambiguous_months, word(ahead)) != ambiguous_months.end();
    }

    [[nodiscard]] bool preceded_by_preposition() const {
        if (at_ == 0)
            return false;
        constexpr std::array before = {"in",   "of",   "since", "during", "by", "until",
                                       "last", "this", "next",  "im",     "en"};
        return std::ranges::find(before, words_[at_ - 1].text) != before.end();
    }

    // early May, mid-May 2023, the end of May
    Days third_of_month() {
        const int third = value_of(thirds, word(0));
        if (third < 0)
            return std::nullopt;
        const std::size_t of = word(1) == "of" || word(1) == "de" || word(1) == "di" ? 1 : 0;
        const auto m = value_of(months, word(1 + of));
        if (m < 0)
            return std::nullopt;
        if (is_ambiguous(1) && !words_[at_ + 1].capital && !preceded_by_preposition())
            return std::nullopt; // it is late, may I …
        const bool with_year = is_year(2 + of);
        const int year = with_year ? number(2 + of) : past_year(m, 1 + 10 * third);
        const auto first = days_from_civil({year, m, 1 + 10 * third});
        return take(2 + of + (with_year ? 1 : 0), first,
                    third < 2 ? first + 9 : days_from_civil({year, m, days_in(year, m)}));
    }

    Days relative() {
        if (word(0) == "today" || word(0) == "tonight" || word(0) == "heute")
            return take(1, today_, today_);
        if (word(0) == "yesterday" || word(0) == "gestern" || word(0) == "hier" || word(0) == "ayer")
            return take(1, today_ - 1, today_ - 1);
        if (word(0) == "day" && word(1) == "before" && word(2) == "yesterday")
            return take(3, today_ - 2, today_ - 2);
        if (word(0) == "tomorrow" || word(0) == "morgen")
            return take(1, today_ + 1, today_ + 1);
        // on Tuesday, Tuesday evening: the last one before today
        if (const int weekday = value_of(weekdays, word(0)); weekday >= 0 && said_ == Said::asked) {
            const auto day = weekday_near(weekday, -1);
            return take(1, day, day);
        }
        const int direction = word(0) == "last" || word(0) == "past" || word(0) == "previous" ? -1
                              : word(0) == "next"                                             ? 1
                              : word(0) == "this"                                             ? 0
                                                                                              : 2;
        if (direction != 2)
            return named_period(direction);
        // two weeks ago, a couple of days ago
        int count = number(0) > 0 ? number(0) : value_of(numbers, word(0));
        if (count < 0)
            return std::nullopt;
        std::size_t unit = 1;
        if (word(unit) == "couple" || word(unit) == "few")
            count = word(unit++) == "few" ? 3 : 2;
        if (word(unit) == "of")
            ++unit;
        if (word(unit + 1) != "ago" && word(unit + 1) != "earlier")
            return std::nullopt;
        return shifted(unit + 2, word(unit), -count);
    }

    Days named_period(int direction) {
        if (const int weekday = value_of(weekdays, word(1)); weekday >= 0) {
            const auto day = weekday_near(weekday, direction);
            return take(2, day, day);
        }
        if (direction < 0)
            if (auto days = until_today())
                return days;
        if (direction < 0 && word(1) == "night")
            return take(2, today_ - 1, today_ - 1);
        if (direction == 0 && (word(1) == "morning" || word(1) == "afternoon" || word(1) == "evening"))
            return take(2, today_, today_);
        if (const int m = month(1); m > 0) {
            if (direction == 0 && is_ambiguous(1) && !words_[at_ + 1].capital)
                return std::nullopt; // this may be so
            const int year = civil_from_days(today_).year;
            if (direction == 0)
                return take_month(2, year, m);
            if (direction < 0 && m == civil_from_days(today_).month)
                return take_month(2, year - 1, m); // of this one nobody says "last"
            return take_month(2, direction < 0 ? past_year(m, 1) : past_year(m, 1) + 1, m);
        }
        return shifted(2, word(1), direction);
    }

    // The last one before today, the next one behind it, or the one in this week.
    [[nodiscard]] std::int64_t weekday_near(int weekday, int direction) const {
        const auto today_weekday = ((today_ + 3) % 7 + 7) % 7; // 1970-01-01 was a Thursday
        const auto day = today_ - today_weekday + weekday;
        if (direction < 0 && day >= today_)
            return day - 7;
        return direction > 0 && day <= today_ ? day + 7 : day;
    }

    // the last 3 days, the past few weeks, the last couple of months: from then until today
    Days until_today() {
        std::size_t unit = 2;
        const int count = number(1) > 0 ? number(1) : value_of(numbers, word(1));
        if (count <= 0 || count > 1000)
            return std::nullopt;
        if (word(unit) == "of")
            ++unit;
        const auto name = word(unit);
        const auto now = civil_from_days(today_);
        if (name == "days" || name == "day")
            return take(unit + 1, today_ - count, today_);
        if (name == "weeks" || name == "week")
            return take(unit + 1, today_ - 7 * std::int64_t{count}, today_);
        if (name == "months" || name == "month") {
            const int index = now.year * 12 + now.month - 1 - count;
            const int day = std::min(now.day, days_in(index / 12, index % 12 + 1));
            return take(unit + 1, days_from_civil({index / 12, index % 12 + 1, day}), today_);
        }
        if (name == "years" || name == "year")
            return take(unit + 1, days_from_civil({now.year - count, now.month, 1}), today_);
        return std::nullopt;
    }

    // The day, week, month or year that lies `by` of them from today's.
    Days shifted(std::size_t used, std::string_view unit, int by) {
        if (unit.ends_with('s'))
            unit.remove_suffix(1);
        const auto now = civil_from_days(today_);
        if (unit == "day")
            return take(used, today_ + by, today_ + by);
        if (unit == "week" || unit == "weekend") {
            const auto monday = today_ - ((today_ + 3) % 7 + 7) % 7 + 7 * std::int64_t{by};
            return unit == "week" ? take(used, monday, monday + 6) : take(used, monday + 5, monday + 6);
        }
        if (unit == "month") {
            const int index = now.year * 12 + now.month - 1 + by;
            return take_month(used, index / 12, index % 12 + 1);
        }
        if (unit == "year")
            return take(used, days_from_civil({now.year + by, 1, 1}),
                        days_from_civil({now.year + by, 12, 31}));
        return std::nullopt;
    }

    std::string_view text_;
    std::vector<Word> words_;
    std::int64_t today_;
    Said said_;
    std::size_t at_ = 0;
    std::size_t used_ = 0;
    std::vector<DateMention> found_;
};

} // namespace

std::vector<DateMention> find_dates(std::string_view text, std::int64_t today, Said said) {
    return Finder(text, today, said).run();
}

} // namespace holdfast::memory
