#include "memory/text/date_words.hpp"

#include <array>

namespace holdfast::memory {

namespace {

struct Entry {
    std::string_view words; // each between blanks
    int value;
};

template <std::size_t n>
const Entry* find(const Entry (&list)[n], std::string_view word) noexcept {
    if (word.empty())
        return nullptr;
    for (const auto& entry : list)
        for (auto at = entry.words.find(word); at != entry.words.npos; at = entry.words.find(word, at + 1))
            if (entry.words[at - 1] == ' ' && entry.words[at + word.size()] == ' ')
                return &entry;
    return nullptr;
}

constexpr Entry days[] = {
    {" heute hoy hoje oggi vandaag сегодня ", 0},
    {" gestern ayer ontem ieri gisteren вчера ", -1},
    {" vorgestern anteayer anteontem eergisteren позавчера ", -2},
    {" morgen demain amanhã domani завтра ", 1},
};
constexpr Entry signs[] = {
    {"今天", 0},  {"今日", 0},  {"오늘", 0}, {"昨天", -1}, {"昨日", -1},
    {"어제", -1}, {"前天", -2}, {"明天", 1}, {"明日", 1},
};
constexpr Entry units[] = {
    {" tag tage tagen jour jours día días dia dias giorno giorni dag dagen день дня дней ", 0},
    {" woche wochen semaine semaines semana semanas settimana settimane weken неделя неделю недели неделе "
     "недель ",
     1},
    {" wochenende ", 2},
    {" monat monate monaten mois mes meses mês mese mesi maand maanden месяц месяца месяцев месяце ", 3},
    {" jahr jahre jahren année années ans año años ano anos anno anni jaar год года году лет ", 4},
};
constexpr Entry before[] = {
    {" letzte letzten letzter letztes letztem vorige vorigen voriger voriges vergangene vergangenen "
     "afgelopen "
     "прошлый прошлую прошлой прошлом прошлого ",
     -1},
    {" nächste nächsten nächster nächstes nächstem kommende kommenden volgende следующий следующую следующей "
     "следующем ",
     1},
};
constexpr Entry behind[] = {
    {" dernier dernière passé passée pasado pasada passado passada scorso scorsa ", -1},
    {" prochain prochaine próximo próxima prossimo prossima ", 1},
};
constexpr Entry numbers[] = {
    {" ein eine einem einer einen un une uno una um uma een ", 1},
    {" zwei deux dos dois duas due twee два две ", 2},
    {" drei trois tres três tre drie три ", 3},
    {" vier quatre cuatro quatro quattro четыре ", 4},
    {" fünf cinq cinco cinque vijf пять ", 5},
    {" sechs six seis sei zes шесть ", 6},
    {" sieben sept siete sete sette zeven семь ", 7},
    {" acht huit ocho oito otto восемь ", 8},
    {" neun neuf nueve nove negen девять ", 9},
    {" zehn dix diez dez dieci tien десять ", 10},
};

} // namespace

std::optional<int> day_word(std::string_view word) noexcept {
    if (const auto* entry = find(days, word))
        return entry->value;
    if (!word.empty() && static_cast<unsigned char>(word[0]) >= 0xe3)
        for (const auto& sign : signs)
            if (word.find(sign.words) != word.npos)
                return sign.value;
    return std::nullopt;
}

std::string_view english_name(DateUnit unit) noexcept {
    constexpr std::array<std::string_view, 5> names = {"day", "week", "weekend", "month", "year"};
    return names[static_cast<std::size_t>(unit)];
}

std::optional<DateUnit> foreign_unit(std::string_view word) noexcept {
    const auto* entry = find(units, word);
    return entry != nullptr ? std::optional(static_cast<DateUnit>(entry->value)) : std::nullopt;
}

int foreign_direction_before(std::string_view word) noexcept {
    const auto* entry = find(before, word);
    return entry != nullptr ? entry->value : 0;
}

int foreign_direction_behind(std::string_view word) noexcept {
    const auto* entry = find(behind, word);
    return entry != nullptr ? entry->value : 0;
}

int foreign_number(std::string_view word) noexcept {
    const auto* entry = find(numbers, word);
    return entry != nullptr ? entry->value : 0;
}

} // namespace holdfast::memory
