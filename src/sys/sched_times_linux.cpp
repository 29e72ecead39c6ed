#include "sys/sched_times.hpp"

#include "core/text.hpp"
#include "sys/proc.hpp"

#include <charconv>

namespace holdfast::sys {

void add_schedstat(std::string_view text, SchedTimes& times) {
    std::uint64_t ran = 0, waited = 0;
    const char* end = text.data() + text.size();
    auto first = std::from_chars(text.data(), end, ran);
    if (first.ec != std::errc{} || first.ptr == end)
        return;
    if (std::from_chars(first.ptr + 1, end, waited).ec != std::errc{})
        return;
    times.ran_ns += ran;
    times.waited_ns += waited;
}

std::optional<SchedTimes> read_sched_times(pid_t pid) {
    const std::vector<pid_t> threads = threads_of(pid);
    if (threads.empty())
        return std::nullopt;
    SchedTimes out;
    for (pid_t thread : threads) {
        const std::string base = core::cat("/proc/", pid, "/task/", thread);
        if (auto text = read_at_once(base + "/schedstat", 256))
            add_schedstat(*text, out);
        if (auto text = read_at_once(base + "/stat", 4096))
            if (auto stat = parse_stat(*text))
                out.runnable |= stat->state == 'R';
    }
    return out;
}

} // namespace holdfast::sys
