// Words of relative dates beside the English ones, as far as each can be told from other words of any
// language: German, French, Spanish, Portuguese, Italian, Dutch and Russian, and some of Chinese, Japanese
// and Korean.
#pragma once

#include <optional>
#include <string_view>

namespace holdfast::memory {

// Yesterday is -1, today 0, tomorrow 1. A word of a script without blanks need only hold one.
std::optional<int> day_word(std::string_view word) noexcept;

enum class DateUnit { day, week, weekend, month, year };
std::string_view english_name(DateUnit unit) noexcept;
// Woche, semaine, mes …; also of several. Not the English ones.
std::optional<DateUnit> foreign_unit(std::string_view word) noexcept;
// letzte, nächsten, vorige: before its noun. -1 or 1; 0 for any other word.
int foreign_direction_before(std::string_view word) noexcept;
// dernière, pasada, próximo: behind its noun.
int foreign_direction_behind(std::string_view word) noexcept;
// zwei, deux, dos: 1 to 10; 0 for any other word.
int foreign_number(std::string_view word) noexcept;

} // namespace holdfast::memory
