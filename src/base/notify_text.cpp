#include "base/notify_text.hpp"

#include <charconv>

namespace holdfast::base {

namespace {
std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t out = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return out;
}
} // namespace

NotifyWords read_notify(std::string_view text) {
    NotifyWords out;
    while (!text.empty()) {
        std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        std::size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            continue;
        std::string_view key = line.substr(0, equals);
        std::string_view value = line.substr(equals + 1);
        if (key == "READY")
            out.ready = out.ready || value == "1";
        else if (key == "STOPPING")
            out.stopping = out.stopping || value == "1";
        else if (key == "STATUS")
            out.status = std::string(value);
        else if (key == "HOLDFAST_ADDRESS")
            out.address = std::string(value);
        else if (key == "EXTEND_TIMEOUT_USEC")
            out.extend_usec = number(value);
        else if (key == "HOLDFAST_PROGRESS") {
            std::size_t slash = value.find('/');
            out.progress_done = number(value.substr(0, slash));
            if (slash != std::string_view::npos)
                out.progress_total = number(value.substr(slash + 1)).value_or(0);
        }
    }
    return out;
}

} // namespace holdfast::base
