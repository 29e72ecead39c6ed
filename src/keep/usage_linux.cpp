#include "keep/usage.hpp"

#include "core/text.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <cstdlib>

namespace holdfast::keep {

namespace {
std::uint64_t counter(const std::string& text, std::string_view name) {
    std::size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + name.size(), nullptr, 10);
}
} // namespace

Usage measure_usage(const Tree& tree) {
    Usage out;
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    for (const Tree::Member& member : tree.members()) {
        if (auto stat = sys::read_stat(member.pid))
            out.rss_bytes += stat->rss_pages * page;
        if (auto io = sys::read_small_file(core::cat("/proc/", member.pid, "/io"), 4096))
            out.io_bytes += counter(*io, "rchar: ") + counter(*io, "wchar: ");
    }
    return out;
}

} // namespace holdfast::keep
