#include "core/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace holdfast::core {

namespace {

bool is_control(std::string_view character) {
    const auto lead = static_cast<unsigned char>(character[0]);
    return lead < 0x20 || lead == 0x7f ||
           (lead == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0); // U+0080 to U+009F
}

} // namespace

std::size_t utf8_length(std::string_view text) {
    auto lead = static_cast<unsigned char>(text[0]);
    std::size_t length = lead < 0x80         ? 1
                         : lead >> 5 == 0x6  ? 2
                         : lead >> 4 == 0xe  ? 3
                         : lead >> 3 == 0x1e ? 4
                                             : 0;
    if (length == 0 || length > text.size())
        return 0;
    static constexpr std::array<unsigned char, 5> lead_bits = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static constexpr std::array<std::uint32_t, 5> smallest = {0, 0, 0x80, 0x800,
                                                              0x10000}; // longer forms are not valid
    std::uint32_t code = lead & lead_bits[length];
    for (std::size_t i = 1; i < length; ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        if (byte >> 6 != 0x2)
            return 0;
        code = code << 6 | (byte & 0x3fU);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return surrogate || code > 0x10ffff || code < smallest[length] ? 0 : length;
}

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0 || is_control(text)) {
            out += '?';
            text.remove_prefix(1);
        } else {
            out += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return out;
}

std::string as_utf8(std::string text) {
    if (is_utf8(text))
        return text;
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = utf8_length(rest);
        out += length == 0 ? std::string_view("\xEF\xBF\xBD") : rest.substr(0, length);
        rest.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto length = utf8_length(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::size_t shown_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

} // namespace holdfast::core
