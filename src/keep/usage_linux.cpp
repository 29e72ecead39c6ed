#include "keep/usage.hpp"

#include "base/text.hpp"
#include "sys/proc.hpp"
#include "sys/sched_times.hpp"

#include <unistd.h>

#include <cstdlib>

namespace holdfast::keep {

namespace {
constexpr std::uint64_t ns_per_second = 1'000'000'000;

std::uint64_t counter(const std::string& text, std::string_view name) {
    std::size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + name.size(), nullptr, 10);
}
} // namespace

Usage measure_usage(const ending::Tree& tree, bool with_cpu) {
    Usage out;
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    for (const ending::Tree::Member& member : tree.members()) {
        auto stat = sys::read_stat(member.pid);
        if (stat)
            out.rss_bytes += stat->rss_pages * page;
        if (auto times = with_cpu ? sys::read_sched_times(member.pid) : std::nullopt)
            out.cpu_ns += times->ran_ns      ? times->ran_ns
                          : stat.has_value() ? stat->cpu_ticks * (ns_per_second / ticks_per_second)
                                             : 0;
        if (auto io = sys::read_small_file(base::cat("/proc/", member.pid, "/io"), 4096))
            out.io_bytes += counter(*io, "rchar: ") + counter(*io, "wchar: ");
    }
    return out;
}

} // namespace holdfast::keep
