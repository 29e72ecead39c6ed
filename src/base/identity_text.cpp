#include "base/identity_text.hpp"

#include "base/text.hpp"

#include <charconv>

namespace holdfast::base {

std::string to_word(const Identity& identity) {
    return cat(identity.pid, ':', identity.start_ticks, ':', identity.pid_ns, ':', identity.pidfd_inode, ':',
               identity.boot_id);
}

namespace {
template <class N>
bool take_number(std::string_view& rest, N& out) {
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
    if (error != std::errc{} || end == rest.data() + rest.size() || *end != ':')
        return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
    return true;
}
} // namespace

std::optional<Identity> identity_from_word(std::string_view word) {
    Identity out;
    if (!take_number(word, out.pid) || !take_number(word, out.start_ticks) ||
        !take_number(word, out.pid_ns) || !take_number(word, out.pidfd_inode) || out.pid <= 0 || word.empty())
        return std::nullopt;
    out.boot_id = word;
    return out;
}

} // namespace holdfast::base
