#include "memory/text/dates.hpp"

#include "base/utf8.hpp"
#include "memory/text/date_names.hpp"
#include "memory/text/date_words.hpp"
#include "memory/text/languages.hpp"
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
    bool ordinal = false; // 3rd
};

// How many bytes the letter, digit or mark there has; 0 when it is something else.
std::size_t letter_at(std::string_view text, std::size_t at) {
    const auto begin = at;
    const auto code = base::decode_utf8(text, at);
    return script_of(code) != Script::none || (code >= 0x80 && is_mark(code)) ? at - begin : 0;
}

std::vector<Word> words_of(std::string_view text) {
    std::vector<Word> words;
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
        // Typographic quotes, apostrophes and dashes part words as the plain ones do.
        if (const auto length = letter_at(text, at); length == 0) {
            (void)base::decode_utf8(text, at);
            continue;
        }
        const std::size_t begin = at;
        const bool digits = std::isdigit(byte(at)) != 0;
        Word word{"", static_cast<std::uint32_t>(begin), 0, -1, true, std::isupper(byte(at)) != 0};
        while (at < text.size()) {
            const auto length = letter_at(text, at);
            if (length == 0 || (length == 1 ? (std::isdigit(byte(at)) != 0) != digits : digits))
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
            word.ordinal = at > word.end;
        }
        words.push_back(std::move(word));
    }
    return words;
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
        if (auto days = with_signs())
            return days;
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

    // 2023年5月3日, 5月3日, 2023年5月; the last sign may begin a word that goes on.
    Days with_signs() {
        const auto sign = [&](std::size_t ahead, std::string_view chinese, std::string_view korean) {
            return word(ahead).starts_with(chinese) || word(ahead).starts_with(korean);
        };
        const std::size_t year = is_year(0) && sign(1, "年", "년") ? 2 : 0;
        if (number(year) < 1 || number(year) > 12 || !sign(year + 1, "月", "월"))
            return std::nullopt;
        const int m = number(year);
        if (is_day(year + 2) && (sign(year + 3, "日", "일") || sign(year + 3, "号", "號")))
            return one_day(year + 4, year > 0 ? number(0) : past_year(m, number(2)), m, number(year + 2));
        return year > 0 ? take_month(4, number(0), m) : std::nullopt;
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
        constexpr std::array others = {"im", "en", "em", "nel", "seit", "sinds", "depuis", "desde", "в", "с"};
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
        if (word(0) == "today" || word(0) == "tonight")
            return take(1, today_, today_);
        if (word(0) == "yesterday")
            return take(1, today_ - 1, today_ - 1);
        if (auto days = in_other_words())
            return days;
        // on the 3rd: as with weekdays
        if (word(0) == "on" && word(1) == "the" && is_day(2) && words_[at_ + 2].ordinal &&
            said_ == Said::asked && word(3) != "of" && month(3) < 0)
            return last_day_of_number(3, number(2));
        if (word(0) == "day" && word(1) == "before" && word(2) == "yesterday")
            return take(3, today_ - 2, today_ - 2);
        if (word(0) == "tomorrow")
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

    // The same in other languages.
    Days in_other_words() {
        const auto before = at_ > 0 ? std::string_view(words_[at_ - 1].text) : std::string_view();
        if (const auto day = day_word(word(0))) {
            // Good morning, this morning
            if (word(0) == "morgen" && (before == "guten" || before == "heute" || before == "gestern" ||
                                        before == "am" || before == "jeden"))
                return std::nullopt;
            return take(1, today_ + *day, today_ + *day);
        }
        if (word(0) == "aujourd" && word(1) == "hui")
            return take(2, today_, today_);
        if (word(0) == "avant" && word(1) == "hier")
            return take(2, today_ - 2, today_ - 2);
        if (word(0) == "hier" && is_french())
            return take(1, today_ - 1, today_ - 1);
        const int leading = foreign_direction_before(word(0));
        const auto name = leading != 0 ? word(1) : word(0);
        const int direction = leading != 0 ? leading : foreign_direction_behind(word(1));
        if (direction != 0) {
            if (const int weekday = value_of(weekdays, name); weekday >= 0) {
                const auto day = weekday_near(weekday, direction);
                return take(2, day, day);
            }
            const auto unit = foreign_unit(name);
            return unit ? shifted(2, english_name(*unit), direction) : std::nullopt;
        }
        return ago_in_other_words();
    }

    // vor zwei Wochen, il y a 3 jours, hace dos meses, due giorni fa, twee weken geleden
    Days ago_in_other_words() {
        const std::size_t leading = word(0) == "vor" || word(0) == "hace" || word(0) == "há" ? 1
                                    : word(0) == "il" && word(1) == "y" && word(2) == "a"    ? 3
                                                                                             : 0;
        const int count = number(leading) > 0 ? number(leading) : foreign_number(word(leading));
        const auto unit = foreign_unit(word(leading + 1));
        if (count <= 0 || count > 1000 || !unit)
            return std::nullopt;
        const auto behind = word(leading + 2);
        if (leading == 0 && behind != "fa" && behind != "geleden" && behind != "назад" && behind != "atrás")
            return std::nullopt;
        return shifted(leading + (leading == 0 ? 3 : 2), english_name(*unit), -count);
    }

    // "hier" is yesterday in French and here in German and Dutch: the other words tell.
    [[nodiscard]] bool is_french() const {
        LanguageVote vote;
        for (const auto& one : words_)
            if (one.text != "hier")
                vote.see(one.text);
        const auto language = vote.winner(1);
        return language != Language::german && language != Language::dutch;
    }

    // The last day before today with that number in its month.
    Days last_day_of_number(std::size_t used, int number_of_day) {
        auto date = civil_from_days(today_);
        for (int months = 0; months < 12; ++months) {
            if (number_of_day <= days_in(date.year, date.month)) {
                const auto day = days_from_civil({date.year, date.month, number_of_day});
                if (day < today_)
                    return take(used, day, day);
            }
            date =
                date.month == 1 ? CivilDate{date.year - 1, 12, 1} : CivilDate{date.year, date.month - 1, 1};
        }
        return std::nullopt;
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
