// Names of months and weekdays, and the English words beside them. Only for dates.cpp.
#pragma once

#include <array>
#include <string_view>

namespace holdfast::memory {

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
    {"mei", 5},       {"augustus", 8},   {"января", 1},     {"февраля", 2},   {"марта", 3},
    {"апреля", 4},    {"мая", 5},        {"июня", 6},       {"июля", 7},      {"августа", 8},
    {"сентября", 9},  {"октября", 10},   {"ноября", 11},    {"декабря", 12},  {"январе", 1},
    {"феврале", 2},   {"марте", 3},      {"апреле", 4},     {"мае", 5},       {"июне", 6},
    {"июле", 7},      {"августе", 8},    {"сентябре", 9},   {"октябре", 10},  {"ноябре", 11},
    {"декабре", 12},
};
constexpr Named short_months[] = {{"jan", 1}, {"feb", 2}, {"mar", 3},  {"apr", 4},  {"jun", 6},  {"jul", 7},
                                  {"aug", 8}, {"sep", 9}, {"sept", 9}, {"oct", 10}, {"nov", 11}, {"dec", 12}};
// Months whose name is also another word: with a capital they still need a preposition.
constexpr std::array ambiguous_months = {"may", "march", "mars", "mai", "mei"};
constexpr std::array italian_months = {"gennaio", "febbraio", "marzo",     "aprile",  "maggio",   "giugno",
                                       "luglio",  "agosto",   "settembre", "ottobre", "novembre", "dicembre"};
constexpr Named weekdays[] = {
    {"monday", 0},     {"tuesday", 1},  {"wednesday", 2},   {"thursday", 3},    {"friday", 4},
    {"saturday", 5},   {"sunday", 6},   {"montag", 0},      {"dienstag", 1},    {"mittwoch", 2},
    {"donnerstag", 3}, {"freitag", 4},  {"samstag", 5},     {"sonntag", 6},     {"lundi", 0},
    {"mardi", 1},      {"mercredi", 2}, {"jeudi", 3},       {"vendredi", 4},    {"samedi", 5},
    {"dimanche", 6},   {"lunes", 0},    {"martes", 1},      {"miércoles", 2},   {"jueves", 3},
    {"viernes", 4},    {"sábado", 5},   {"domingo", 6},     {"lunedì", 0},      {"martedì", 1},
    {"mercoledì", 2},  {"giovedì", 3},  {"venerdì", 4},     {"sabato", 5},      {"domenica", 6},
    {"maandag", 0},    {"dinsdag", 1},  {"woensdag", 2},    {"donderdag", 3},   {"vrijdag", 4},
    {"zaterdag", 5},   {"zondag", 6},   {"понедельник", 0}, {"вторник", 1},     {"среду", 2},
    {"четверг", 3},    {"пятницу", 4},  {"субботу", 5},     {"воскресенье", 6},
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

} // namespace holdfast::memory
