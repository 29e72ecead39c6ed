// Joining text without streams or locales: they would cost a waiting process half a megabyte.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace holdfast::base {

namespace detail {
inline void append(std::string& out, std::string_view text) {
    out += text;
}
inline void append(std::string& out, char c) {
    out += c;
}
template <std::integral N>
    requires(!std::same_as<N, char> && !std::same_as<N, bool>)
void append(std::string& out, N number) {
    out += std::to_string(number);
}
} // namespace detail

// cat("pid ", 42, " is gone") -> "pid 42 is gone". Takes text, characters and integers.
template <class... Parts>
std::string cat(const Parts&... parts) {
    std::string out;
    (detail::append(out, parts), ...);
    return out;
}

} // namespace holdfast::base
