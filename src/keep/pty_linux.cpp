#include "keep/pty.hpp"

#include "sys/pty.hpp"
#include "sys/signals.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace holdfast::keep {

namespace {

constexpr std::size_t piece = 4096;
constexpr std::size_t buffer_bytes = std::size_t{64} << 10;

bool try_again() {
    return errno == EINTR || errno == EAGAIN;
}

} // namespace

Pty::Pty(sys::Fd master, sys::Fd slave)
    : master_(std::move(master))
    , slave_(std::move(slave))
    , to_helper_(sys::NonBlockingOut::of_own(master_.get()), buffer_bytes)
    , to_host_(sys::NonBlockingOut(STDOUT_FILENO), buffer_bytes) {
    const sys::TerminalStops as_others;
    termios settings{};
    if (::tcgetattr(STDIN_FILENO, &settings) == 0) {
        before_ = settings;
        ::cfmakeraw(&settings);
        ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
    }
    copy_window_size();
}

Pty::~Pty() {
    if (master_ && before_)
        ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

Result<Pty> Pty::open() {
    auto pair = sys::open_pty();
    if (!pair)
        return std::unexpected(pair.error());
    return Pty(std::move(pair->master), std::move(pair->slave));
}

bool Pty::copy_window_size() const {
    winsize size{}, before{};
    if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return false;
    const bool known = ::ioctl(master_.get(), TIOCGWINSZ, &before) == 0;
    const bool same = size.ws_row == before.ws_row && size.ws_col == before.ws_col &&
                      size.ws_xpixel == before.ws_xpixel && size.ws_ypixel == before.ws_ypixel;
    return !(known && same) && ::ioctl(master_.get(), TIOCSWINSZ, &size) == 0;
}

Pty::Polled Pty::wishes() const {
    const bool read_host = input_open_ && to_helper_.room() >= piece;
    const bool read_helper = output_open_ && (to_host_.closed() || to_host_.room() >= piece);
    const auto master = static_cast<short>((read_helper ? POLLIN : 0) | (to_helper_.empty() ? 0 : POLLOUT));
    return {{{.fd = read_host ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
             {.fd = master ? master_.get() : -1, .events = master, .revents = 0},
             {.fd = to_host_.fd(), .events = POLLOUT, .revents = 0}}};
}

void Pty::relay(const Polled& polled) {
    const sys::TerminalStops as_others;
    if (polled[0].revents)
        read_host();
    if (polled[1].revents & POLLOUT)
        to_helper_.flush();
    if (polled[1].revents & ~POLLOUT)
        read_helper();
    if (polled[2].revents)
        to_host_.flush();
}

void Pty::read_host() {
    std::array<char, piece> buffer;
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && try_again())
        return;
    if (n <= 0) {
        end_input();
        return;
    }
    const char last = buffer[static_cast<std::size_t>(n) - 1];
    line_open_ = last != '\n' && last != '\r';
    to_helper_.put({buffer.data(), static_cast<std::size_t>(n)});
}

void Pty::end_input() {
    input_open_ = false;
    to_helper_.put(sys::end_of_input(master_.get(), line_open_));
}

void Pty::read_helper() {
    std::array<char, piece> buffer;
    const ssize_t n = ::read(master_.get(), buffer.data(), buffer.size());
    if (n < 0 && try_again())
        return;
    if (n <= 0)
        output_open_ = false; // EIO: every slave was closed
    else
        to_host_.put({buffer.data(), static_cast<std::size_t>(n)});
}

bool Pty::output_waits() const {
    if (!to_host_.empty())
        return true;
    pollfd one{.fd = master_.get(), .events = POLLIN, .revents = 0};
    return output_open_ && ::poll(&one, 1, 0) > 0;
}

} // namespace holdfast::keep
