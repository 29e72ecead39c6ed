#include "keep/control.hpp"

#include "sys/errors.hpp"

#include <sys/socket.h>

#include <array>
#include <charconv>

namespace holdfast::keep {

long Message::number(std::size_t index) const {
    long out = 0;
    if (index < values.size())
        std::from_chars(values[index].data(), values[index].data() + values[index].size(), out);
    return out;
}

std::optional<std::uint64_t> Message::value(std::size_t index) const {
    if (index >= values.size())
        return std::nullopt;
    std::uint64_t out = 0;
    const std::string& text = values[index];
    const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
    return read.ec == std::errc{} ? std::optional(out) : std::nullopt;
}

Result<std::pair<Control, Control>> Control::make_pair() {
    std::array<int, 2> fds{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()) != 0)
        return sys::fail_sys("create a control socket");
    return std::pair(Control(sys::own_fd(fds[0])), Control(sys::own_fd(fds[1])));
}

Control::Sent Control::offer(std::string_view text) const {
    for (;;) {
        if (::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0)
            return Sent::yes;
        if (errno != EINTR)
            return errno == EAGAIN ? Sent::full : Sent::gone;
    }
}

Control::State Control::receive(Message& message) const {
    std::array<char, 512> buffer;
    ssize_t n = 0;
    do {
        n = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? State::nothing_yet : State::closed;
    if (n == 0)
        return State::closed;
    std::string_view rest(buffer.data(), static_cast<std::size_t>(n));
    message = {};
    for (bool first = true;; first = false) {
        std::size_t end = rest.find(' ');
        std::string_view part = rest.substr(0, end);
        if (first)
            message.word = part;
        else
            message.values.emplace_back(part);
        if (end == std::string_view::npos)
            return State::message;
        rest.remove_prefix(end + 1);
    }
}

} // namespace holdfast::keep
