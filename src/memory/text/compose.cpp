#include "memory/text/compose.hpp"

#include <string_view>

namespace holdfast::memory {

namespace {

struct Mark {
    char32_t mark;
    std::u32string_view letters;
    std::u32string_view composed; // in the same order
};

constexpr Mark marks[] = {
    {0x300, U"aeiounwyâêôăơư", U"àèìòùǹẁỳầềồằờừ"},
    {0x301, U"aeiouycnsrlzgâêôăơưαεηιουωϊϋгк", U"áéíóúýćńśŕĺźǵấếốắớứάέήίόύώΐΰѓќ"},
    {0x302, U"aeioucghjswyzạẹọ", U"âêîôûĉĝĥĵŝŵŷẑậệộ"},
    {0x303, U"anoiueyâêôăơư", U"ãñõĩũẽỹẫễỗẵỡữ"},
    {0x304, U"aeiouиу", U"āēīōūӣӯ"},
    {0x306, U"aegiouиуạ", U"ăĕğĭŏŭйўặ"},
    {0x307, U"ceiogz", U"ċėiȯġż"}, // İ in pieces is an i with its dot
    {0x308, U"aeiouyеіιυ", U"äëïöüÿёїϊϋ"},
    {0x309, U"aeiouyâêôăơư", U"ảẻỉỏủỷẩểổẳởử"},
    {0x30a, U"auwy", U"åůẘẙ"},
    {0x30b, U"ou", U"őű"},
    {0x30c, U"cdenrstzlaioug", U"čďěňřšťžľǎǐǒǔǧ"},
    {0x31b, U"ou", U"ơư"},
    {0x323, U"aeiouyơưdhstz", U"ạẹịọụỵợựḍḥṣṭẓ"},
    {0x326, U"st", U"șț"},
    {0x327, U"cstgklnre", U"çşţģķļņŗȩ"},
    {0x328, U"aeiou", U"ąęįǫų"},
    {0x653, U"ا", U"آ"},
    {0x654, U"اوي", U"أؤئ"},
    {0x655, U"ا", U"إ"},
    {0x3099, U"かきくけこさしすせそたちつてとはひふへほうカキクケコサシスセソタチツテトハヒフヘホウ",
     U"がぎぐげござじずぜぞだぢづでどばびぶべぼゔガギグゲゴザジズゼゾダヂヅデドバビブベボヴ"},
    {0x309a, U"はひふへほハヒフヘホ", U"ぱぴぷぺぽパピプペポ"},
};

constexpr bool all_in_pairs() {
    for (const auto& entry : marks)
        if (entry.letters.size() != entry.composed.size())
            return false;
    return true;
}
static_assert(all_in_pairs());

// Korean syllables stand in the order of their letters.
constexpr char32_t first_syllable = 0xac00;
constexpr char32_t vowels = 21;
constexpr char32_t endings = 28; // none is one of them

char32_t syllable(char32_t before, char32_t letter) noexcept {
    if (before >= 0x1100 && before < 0x1113 && letter >= 0x1161 && letter < 0x1161 + vowels)
        return first_syllable + ((before - 0x1100) * vowels + (letter - 0x1161)) * endings;
    const bool open = before >= first_syllable && before < 0xd7a4 && (before - first_syllable) % endings == 0;
    return open && letter > 0x11a7 && letter < 0x11a7 + endings ? before + (letter - 0x11a7) : 0;
}

} // namespace

char32_t composed(char32_t letter, char32_t mark) noexcept {
    if (mark >= 0x1161 && mark < 0x1200)
        return syllable(letter, mark);
    for (const auto& entry : marks)
        if (entry.mark == mark) {
            const auto place = entry.letters.find(letter);
            return place == entry.letters.npos ? 0 : entry.composed[place];
        }
    return 0;
}

} // namespace holdfast::memory
