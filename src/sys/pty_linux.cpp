#include "sys/pty.hpp"

#include "sys/errors.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast::sys {

Result<Pty> open_pty() {
    Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0)
        return fail_sys("open a pseudo-terminal");
    Fd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!slave)
        return fail_sys("open a pseudo-terminal");
    ::fcntl(master.get(), F_SETFL, O_NONBLOCK);
    return Pty{.master = std::move(master), .slave = std::move(slave)};
}

Result<void> set_window_size(int master, WindowSize size) {
    const winsize wanted{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::ioctl(master, TIOCSWINSZ, &wanted) != 0)
        return fail_sys("set the size of a terminal");
    return {};
}

// A terminal has no end, only a character that says so, and that one only ends the line when there is one:
// after half a line it takes a second to say that nothing follows. A program that reads keys, not lines, gets
// it once, like any other key.
std::string end_of_input(int master, bool line_open) {
    constexpr char end_of_transmission = 4;
    termios settings{};
    const bool known = ::tcgetattr(master, &settings) == 0;
    const bool by_lines = !known || (settings.c_lflag & ICANON) != 0;
    const char end = known && by_lines && settings.c_cc[VEOF] != _POSIX_VDISABLE
                         ? static_cast<char>(settings.c_cc[VEOF])
                         : end_of_transmission;
    return std::string(line_open && by_lines ? 2 : 1, end);
}

} // namespace holdfast::sys
