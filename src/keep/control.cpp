#include "keep/control.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"

#include <sys/socket.h>

#include <array>
#include <charconv>

namespace holdfast::keep {

namespace {
constexpr std::string_view protocol_option = "--protocol=";
constexpr std::string_view control_option = "--control=";

// Of "NAME=number"; empty when it is not of that form.
std::optional<int> number_after(std::string_view name, std::string_view word) {
    if (!word.starts_with(name))
        return std::nullopt;
    word.remove_prefix(name.size());
    int out = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), out);
    const bool whole = read.ec == std::errc{} && read.ptr == word.data() + word.size();
    return whole ? std::optional(out) : std::nullopt;
}
} // namespace

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

std::string protocol_word() {
    return base::cat(protocol_option, protocol_version);
}

std::string describe_other_protocol(int keeper, int library) {
    const auto named = [](int version) {
        return version == 0 ? std::string("an older one, without a number") : base::cat("version ", version);
    };
    return base::cat("holdfast-keep speaks ", named(keeper),
                     " of the protocol between keeper and library, and the library speaks ", named(library),
                     ": install both from the same release, or set HOLDFAST_KEEP to the holdfast-keep that "
                     "came with the library");
}

int control_fd_in(const std::vector<std::string>& argv) {
    for (std::size_t at = 1; at < argv.size() && argv[at] != "--"; ++at)
        if (const auto fd = number_after(control_option, argv[at]))
            return *fd;
    return -1;
}

std::optional<int> other_protocol_in(const std::vector<std::string>& argv) {
    if (control_fd_in(argv) < 0)
        return std::nullopt;
    const int library = argv.size() > 1 ? number_after(protocol_option, argv[1]).value_or(0) : 0;
    return library == protocol_version ? std::nullopt : std::optional(library);
}

} // namespace holdfast::keep
