// Dates in text, absolute or relative to when it was said: "3 May 2023", "last Tuesday", "in may", "late
// May", "two weeks ago", "in the last 3 days".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast::memory {

struct CivilDate {
    int year = 0;
    int month = 0; // 1..12
    int day = 0;   // 1..31
};

// Days since 1970-01-01, in the proleptic Gregorian calendar.
std::int64_t days_from_civil(CivilDate date) noexcept;
CivilDate civil_from_days(std::int64_t days) noexcept;
// The local day of a time in milliseconds.
std::int64_t local_day(std::int64_t ts_ms) noexcept;

// Whole days, both ends included. Where the words leave the
// year open, it is the nearest one that is not in the future.
struct DateMention {
    std::int64_t first_day = 0;
    std::int64_t last_day = 0;
    std::uint32_t begin = 0; // where in the text
    std::uint32_t end = 0;
};

// A weekday without "last" or "next", or "the 3rd", lies behind the one who asks, but either way from one who
// tells ("see you on Tuesday"): in what was told it is no date.
enum class Said { told, asked };

// The mentions in the text, seen from the day `today`. English words; 2023-05-03, 3.5.2023 and 2023年5月3日
// in any language; names of months and days, and words such as "letzte Woche", also in German, French,
// Spanish, Portuguese, Italian, Dutch and Russian (date_words.hpp).
std::vector<DateMention> find_dates(std::string_view text, std::int64_t today, Said said = Said::told);

} // namespace holdfast::memory
