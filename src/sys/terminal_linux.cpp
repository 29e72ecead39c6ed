#include "sys/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace holdfast::sys {

bool shows_moving_lines(int fd) noexcept {
    const char* kind = std::getenv("TERM");
    return ::isatty(fd) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

std::size_t terminal_columns(int fd) noexcept {
    winsize size{};
    return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

} // namespace holdfast::sys
