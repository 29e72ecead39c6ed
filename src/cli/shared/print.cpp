#include "cli/shared/print.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/shared/exit_codes.hpp"
#include "sys/errors.hpp"
#include "sys/whole_file.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace holdfast::cli {

using base::shown_width;

namespace {

std::size_t terminal_width() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        return size.ws_col;
    return std::string_view::npos;
}

std::string cut(const std::string& text, std::size_t width) {
    return shown_width(text) <= width ? text : base::cat(base::cut_to_width(text, width - 1), "…");
}

} // namespace

bool print(std::string_view text) {
    return print_bytes(base::printable_lines(text));
}
bool print_bytes(std::string_view bytes) {
    errno = sys::write_all(STDOUT_FILENO, bytes);
    return errno == 0;
}
int answer(std::string_view text, int code) {
    return answer_bytes(base::printable_lines(text), code);
}
int answer_json(std::string_view json, int code) {
    return answer_bytes(base::cat(base::printable_json(json), '\n'), code);
}
int answer_bytes(std::string_view bytes, int code) {
    if (print_bytes(bytes) || errno == EPIPE)
        return code;
    return fail_with(sys::fail_making("write to stdout").error());
}
std::string in_one_line(std::string text) {
    std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
    return base::printable(text);
}
void complain(std::string_view text) {
    (void)sys::write_all(STDERR_FILENO, base::cat("holdfast: ", in_one_line(std::string(text)), '\n'));
}
int fail_with(const Error& error) {
    complain(error.message);
    return exit_code_of(error);
}
bool stdout_is_terminal() {
    return ::isatty(STDOUT_FILENO) == 1;
}

void Table::add(std::vector<std::string> row) {
    for (std::string& cell : row)
        cell = base::printable(cell);
    rows_.push_back(std::move(row));
}

std::string Table::text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_)
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], shown_width(row[column]));
    std::size_t before_last = 0;
    for (std::size_t column = 0; column + 1 < widths.size(); ++column)
        before_last += widths[column] + 2;
    std::size_t limit = terminal_width();
    std::size_t for_last = limit == std::string_view::npos
                               ? limit
                               : std::max<std::size_t>(limit > before_last ? limit - before_last : 0, 10);
    std::string out;
    for (const auto& row : rows_) {
        for (std::size_t column = 0; column < row.size(); ++column) {
            bool last = column + 1 == row.size();
            out += last ? cut(row[column], for_last) : row[column];
            if (!last)
                out.append(widths[column] - shown_width(row[column]) + 2, ' ');
        }
        out += '\n';
    }
    return out;
}

} // namespace holdfast::cli
