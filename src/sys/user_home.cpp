#include "sys/user_home.hpp"

#include "sys/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

namespace holdfast::sys {

namespace {

constexpr std::size_t longest_line = 4096;
constexpr std::size_t most_bytes = std::size_t{16} << 20;

// name:password:uid:gid:comment:home:shell
std::optional<std::string> home_in(std::string_view line, uid_t uid) {
    std::array<std::string_view, 7> fields{};
    std::size_t count = 0;
    for (; count < fields.size(); ++count) {
        const std::size_t end = line.find(':');
        fields[count] = line.substr(0, end);
        if (end == std::string_view::npos) {
            ++count;
            break;
        }
        line.remove_prefix(end + 1);
    }
    if (count < 6 || fields[0].empty() || !fields[5].starts_with('/'))
        return std::nullopt;
    uid_t number = 0;
    const std::string_view text = fields[2];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number != uid)
        return std::nullopt;
    return std::string(fields[5]);
}

} // namespace

std::optional<std::string> home_of_user(uid_t uid, const std::string& passwd) {
    const Fd file(::open(passwd.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        return std::nullopt;
    std::array<char, longest_line> buffer;
    std::string line;
    bool too_long = false;
    for (std::size_t read = 0; read < most_bytes;) {
        const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        read += static_cast<std::size_t>(n);
        for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(n))) {
            if (c == '\n') {
                auto home = too_long ? std::nullopt : home_in(line, uid);
                if (home)
                    return home;
                line.clear();
                too_long = false;
            } else if (line.size() < longest_line) {
                line += c;
            } else {
                too_long = true;
            }
        }
    }
    return too_long ? std::nullopt : home_in(line, uid); // the last line may lack its end
}

} // namespace holdfast::sys
