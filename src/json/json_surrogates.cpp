#include "json/json_surrogates.hpp"

#include "json/json_exact.hpp"

#include <charconv>
#include <cstdint>

namespace holdfast::json {

namespace {

constexpr std::size_t escape_size = 6; // \uXXXX

// The unit that an escape at this place stands for; 0 where there is none.
std::uint32_t unit_at(std::string_view text, std::size_t at) {
    if (at + escape_size > text.size() || text[at] != '\\' || text[at + 1] != 'u')
        return 0;
    std::uint32_t unit = 0;
    const char* digits = text.data() + at + 2;
    const auto read = std::from_chars(digits, digits + 4, unit, 16);
    return read.ec == std::errc{} && read.ptr == digits + 4 ? unit : 0;
}

bool is_leading(std::uint32_t unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}
bool is_trailing(std::uint32_t unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}

} // namespace

bool mend_lone_surrogates(std::string& text) {
    bool mended = false;
    // Outside of strings JSON has no backslash, so where a string begins need not be known.
    for (std::size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
        const auto unit = unit_at(text, at);
        if (is_leading(unit) && is_trailing(unit_at(text, at + escape_size))) {
            at += 2 * escape_size;
        } else if (is_leading(unit) || is_trailing(unit)) {
            text.replace(at, escape_size, "\\ufffd");
            mended = true;
            at += escape_size;
        } else {
            at += 2; // what is escaped may be a backslash
        }
    }
    return mended;
}

json::value parse_mended(std::string_view text, boost::system::error_code& failed, std::size_t max_depth) {
    auto value = parse_exact(text, failed, max_depth);
    if (!failed)
        return value;
    // Only now: what is sound, and that is nearly all, is read once.
    std::string copy(text);
    if (!mend_lone_surrogates(copy))
        return value;
    boost::system::error_code again;
    auto mended = parse_exact(copy, again, max_depth);
    if (again)
        return value;
    failed.clear();
    return mended;
}

} // namespace holdfast::json
