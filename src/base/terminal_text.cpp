#include "base/terminal_text.hpp"

#include "base/hex.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

#include <algorithm>

namespace holdfast::base {

namespace {

constexpr std::size_t longest_sgr = 64; // more is no colour

// Whether `text` may be the beginning of a character whose other bytes have not come yet.
bool is_cut_character(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead >> 5 == 0x6 ? 2 : lead >> 4 == 0xe ? 3 : lead >> 3 == 0x1e ? 4 : 1;
    return text.size() < length &&
           std::ranges::none_of(text.substr(1), [](char byte) { return starts_character(byte); });
}

void show_as_text(std::string& out, const Character& character) {
    if (character.valid && (character.code < 0x20 || character.code == 0x7f)) {
        out += cat('^', static_cast<char>(character.code ^ 0x40U));
        return;
    }
    out += character.valid ? "<U+" : "<";
    append_hex(out, character.code, character.valid ? 4 : 2, HexLetters::capital);
    out += '>';
}

} // namespace

std::optional<std::size_t> TerminalText::take_escape(std::string& out, std::string_view text, bool last) {
    std::size_t end = 1;
    if (end < text.size() && text[end] == '[')
        for (++end; end < text.size() && end < longest_sgr; ++end)
            if (std::string_view("0123456789;:").find(text[end]) == std::string_view::npos)
                break;
    if (end == text.size() && end < longest_sgr && !last)
        return std::nullopt;
    if (end > 1 && end < text.size() && text[end] == 'm') {
        const auto values = text.substr(2, end - 2);
        coloured_ = values.find_first_not_of("0;") != values.npos;
        out += text.substr(0, end + 1);
        return end + 1;
    }
    show_as_text(out, first_character(text));
    return 1;
}

std::optional<std::size_t> TerminalText::take(std::string& out, std::string_view text, bool last) {
    const char first = text[0];
    if (first == '\033')
        return take_escape(out, text, last);
    if (first == '\n' || first == '\t') {
        out += first;
        return 1;
    }
    if (first == '\r' && text.size() == 1 && !last)
        return std::nullopt;
    if (first == '\r' && text.size() > 1 && text[1] == '\n') {
        out += '\n';
        return 2;
    }
    const auto character = first_character(text);
    if (!character.valid && !last && is_cut_character(text))
        return std::nullopt;
    if (character.printable)
        out += text.substr(0, character.length);
    else
        show_as_text(out, character);
    return character.length;
}

std::string TerminalText::show(std::string_view piece) {
    pending_ += piece;
    std::string out;
    std::string_view rest = pending_;
    while (!rest.empty()) {
        const auto taken = take(out, rest, false);
        if (!taken)
            break;
        rest.remove_prefix(*taken);
    }
    pending_.erase(0, pending_.size() - rest.size());
    return out;
}

std::string TerminalText::finish() {
    std::string out;
    for (std::string_view rest = pending_; !rest.empty();)
        rest.remove_prefix(*take(out, rest, true));
    pending_.clear();
    if (coloured_)
        out += "\033[0m";
    coloured_ = false;
    return out;
}

} // namespace holdfast::base
