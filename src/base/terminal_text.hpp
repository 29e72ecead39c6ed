// Output of a program of unknown intent, made fit for a terminal: colours stay, all else is shown as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

// Text comes in pieces, cut anywhere. What may be the beginning of a longer sequence waits for the next
// piece.
class TerminalText {
public:
    // Line ends, tabs and SGR sequences (ESC [ … m: colour, bold) stay. A control character becomes ^[ (as
    // `cat -v` writes it), another unprintable character <U+202E>, a byte that is not UTF-8 <9B>.
    std::string show(std::string_view piece);
    // What still waits, and a reset when the text left a colour switched on.
    std::string finish();

private:
    std::string pending_;
    bool coloured_ = false;

    // How many bytes of `text` were shown in `out`; nothing when it takes more to know.
    std::optional<std::size_t> take(std::string& out, std::string_view text, bool last);
    std::optional<std::size_t> take_escape(std::string& out, std::string_view text, bool last);
};

} // namespace holdfast::base
