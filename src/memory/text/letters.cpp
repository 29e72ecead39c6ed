#include "memory/text/letters.hpp"

#include "base/utf8.hpp"
#include "memory/text/compose.hpp"

namespace holdfast::memory {

using namespace std::string_view_literals;

Script script_of(char32_t code) noexcept {
    if (code < 0x80) {
        if (code >= '0' && code <= '9')
            return Script::digit;
        if ((code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z'))
            return Script::latin;
        return Script::none;
    }
    if (code < 0xc0)
        return code == 0xaa || code == 0xb5 || code == 0xba ? Script::latin : Script::none;
    if (code < 0x250)
        return code == 0xd7 || code == 0xf7 ? Script::none : Script::latin;
    if (code < 0x370)
        return code < 0x2b0 ? Script::latin : Script::none;
    if (code < 0x400)
        return Script::greek;
    if (code < 0x530)
        return Script::cyrillic;
    if (code < 0x590)
        return code == 0x589 || code == 0x55d || code == 0x55e ? Script::none : Script::armenian;
    if (code < 0x600)
        return code >= 0x5d0 ? Script::hebrew : Script::none;
    if (const auto plain = plain_form(code); plain != code)
        return script_of(plain);
    if (code < 0x780)
        return code == 0x60c || code == 0x61b || code == 0x61f || code == 0x6d4 ? Script::none
                                                                                : Script::arabic;
    if (code >= 0x900 && code < 0x980)
        return code == 0x964 || code == 0x965 ? Script::none : Script::devanagari;
    if (code >= 0xb80 && code < 0xc00)
        return Script::tamil;
    if ((code >= 0xe00 && code < 0xf00) || (code >= 0x1000 && code < 0x10a0) ||
        (code >= 0x1780 && code < 0x1800))
        return Script::unspaced; // Thai, Lao, Burmese, Khmer
    if (code >= 0x1100 && code < 0x1200)
        return Script::unspaced; // Hangul letters
    if (code >= 0x1e00 && code < 0x1f00)
        return Script::latin;
    if (code >= 0x1f00 && code < 0x2000)
        return Script::greek;
    if (code < 0x2c00)
        return code < 0x2000 ? Script::other : Script::none; // punctuation, arrows, signs
    if (code == 0x3005 || code == 0x3006 || (code >= 0x3041 && code < 0x3100 && code != 0x30fb) ||
        (code >= 0x3105 && code < 0x3190) || (code >= 0x31a0 && code < 0x3200) ||
        (code >= 0x3400 && code < 0x4dc0) || (code >= 0x4e00 && code < 0xa000) ||
        (code >= 0xac00 && code < 0xd7b0) || (code >= 0xf900 && code < 0xfb00) ||
        (code >= 0x20000 && code < 0x32000))
        return Script::unspaced;
    if (!spelled_out(code).empty())
        return Script::latin;
    if ((code >= 0x3000 && code < 0x3400) || code >= 0xfe00)
        return Script::none;
    return Script::other;
}

bool is_word_sign(char32_t code) noexcept {
    return (code >= 0x3400 && code < 0x4dc0) || (code >= 0x4e00 && code < 0xa000) ||
           (code >= 0xac00 && code < 0xd7b0) || (code >= 0xf900 && code < 0xfb00) ||
           (code >= 0x20000 && code < 0x32000);
}

char32_t plain_form(char32_t code) noexcept {
    if (code < 0x660)
        return code;
    if (code >= 0xff01 && code <= 0xff5e)
        return code - 0xff01 + '!';
    if (code >= 0xff66 && code <= 0xff9f) {
        constexpr std::u32string_view kana = U"ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテト"
                                             U"ナニヌネノハヒフヘホマミムメモヤユヨ"
                                             U"ラリルレロワン\x3099\x309a";
        static_assert(kana.size() == 0xff9f - 0xff66 + 1);
        return kana[code - 0xff66];
    }
    // Arabic, Persian, Devanagari, Bengali, Tamil, Thai, Lao, Burmese, Khmer.
    for (const char32_t zero : U"\x660\x6f0\x966\x9e6\xbe6\xe50\xed0\x1040\x17e0"sv)
        if (code >= zero && code < zero + 10)
            return code - zero + '0';
    return code;
}

std::string_view spelled_out(char32_t code) noexcept {
    constexpr std::string_view ligatures[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
    if (code >= 0xfb00 && code <= 0xfb06)
        return ligatures[code - 0xfb00];
    switch (code) {
    case 0xdf:
    case 0x1e9e:
        return "ss";
    case 0xe6:
        return "ae";
    case 0x153:
        return "oe";
    default:
        return {};
    }
}

bool is_upper(char32_t code) noexcept {
    return to_lower(code) != code;
}

char32_t to_lower(char32_t code) noexcept {
    if (code < 0x80)
        return code >= 'A' && code <= 'Z' ? code + 32 : code;
    if ((code >= 0xc0 && code <= 0xde && code != 0xd7) || (code >= 0x391 && code <= 0x3a9) ||
        (code >= 0x410 && code <= 0x42f))
        return code + 32;
    if (code == 0x130)
        return 'i';
    if (code == 0x178)
        return 0xff;
    if ((code >= 0x139 && code <= 0x148) || (code >= 0x179 && code <= 0x17e))
        return (code & 1) != 0 ? code + 1 : code;
    if ((code >= 0x100 && code <= 0x177) || (code >= 0x1de && code <= 0x1ef) ||
        (code >= 0x200 && code <= 0x21f) || (code >= 0x1e00 && code <= 0x1eff) ||
        (code >= 0x460 && code <= 0x481) || (code >= 0x48a && code <= 0x4bf))
        return (code & 1) == 0 ? code + 1 : code;
    switch (code) {
    case 0x386:
        return 0x3ac;
    case 0x388:
        return 0x3ad;
    case 0x389:
        return 0x3ae;
    case 0x38a:
        return 0x3af;
    case 0x38c:
        return 0x3cc;
    case 0x38e:
        return 0x3cd;
    case 0x38f:
        return 0x3ce;
    case 0x218:
        return 0x219;
    case 0x21a:
        return 0x21b;
    default:
        break;
    }
    if (code >= 0x400 && code <= 0x40f)
        return code + 80;
    if (code >= 0x531 && code <= 0x556)
        return code + 48;
    if (code >= 0xff21 && code <= 0xff3a)
        return code - 0xff21 + 'a'; // full-width letters
    return code;
}

char32_t base_letter(char32_t code) noexcept {
    if (code < 0xc0)
        return code;
    // Lower-case letters of Latin-1 and Latin Extended-A, in their order.
    constexpr std::string_view latin1 = "aaaaaaaceeeeiiiidnooooo.ouuuuytsaaaaaaaceeeeiiiidnooooo.ouuuuyty";
    if (code < 0x100) {
        const char base = latin1[code - 0xc0];
        return base == '.' ? code : static_cast<char32_t>(base);
    }
    constexpr std::string_view extended = "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllllll"
                                          "lnnnnnnnnnoooooooorrrrrrsssssssstttttt"
                                          "uuuuuuuuuuuuwwyyyzzzzzzs";
    static_assert(extended.size() == 128);
    if (code < 0x180)
        return static_cast<char32_t>(extended[code - 0x100]);
    switch (code) {
    case 0x219:
        return 's';
    case 0x21b:
        return 't';
    case 0x1a1:
        return 'o';
    case 0x1b0:
        return 'u';
    default:
        break;
    }
    if (code >= 0x1ea0 && code < 0x1efa) { // Vietnamese
        if (code < 0x1eb8)
            return 'a';
        if (code < 0x1ec8)
            return 'e';
        if (code < 0x1ecc)
            return 'i';
        if (code < 0x1ee4)
            return 'o';
        return code < 0x1ef2 ? 'u' : 'y';
    }
    switch (code) { // Greek vowels with an accent, Cyrillic yo
    case 0x3ac:
        return 0x3b1;
    case 0x3ad:
        return 0x3b5;
    case 0x3ae:
        return 0x3b7;
    case 0x3af:
    case 0x3ca:
        return 0x3b9;
    case 0x3cc:
        return 0x3bf;
    case 0x3cd:
    case 0x3cb:
        return 0x3c5;
    case 0x3ce:
        return 0x3c9;
    case 0x3c2:
        return 0x3c3;
    case 0x451:
        return 0x435;
    default:
        return code;
    }
}

bool is_mark(char32_t code) noexcept {
    return (code >= 0x300 && code < 0x370) || code == 0xad || (code >= 0x200b && code < 0x2010) ||
           (code >= 0x64b && code < 0x660) || (code >= 0x591 && code < 0x5c8) || code == 0xfeff;
}

char32_t read_letter(std::string_view text, std::size_t& at) noexcept {
    auto letter = to_lower(plain_form(base::decode_utf8(text, at)));
    // Only behind a byte of a mark or of a Korean letter is there anything to put together.
    while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0xcc) {
        auto next = at;
        const auto whole = composed(letter, plain_form(base::decode_utf8(text, next)));
        if (whole == 0)
            break;
        letter = whole;
        at = next;
    }
    return letter;
}

} // namespace holdfast::memory
