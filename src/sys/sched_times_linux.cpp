#include "sys/sched_times.hpp"

#include "base/text.hpp"
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

std::optional<std::uint64_t> last_turn_ms(std::string_view text) {
    constexpr std::string_view name = "se.exec_start";
    const auto at = text.find(name);
    const auto begin = at == text.npos ? at : text.find_first_of("0123456789", at + name.size());
    std::uint64_t ms = 0;
    if (begin == text.npos ||
        std::from_chars(text.data() + begin, text.data() + text.size(), ms).ec != std::errc{})
        return std::nullopt;
    return ms;
}

std::optional<std::uint64_t> read_idle_ms(pid_t pid) {
    // The scheduler's clock now is when this very thread began its turn.
    const auto own = read_at_once("/proc/thread-self/sched", 16384);
    const auto now = own ? last_turn_ms(*own) : std::nullopt;
    std::optional<std::uint64_t> last;
    for (const pid_t thread : threads_of(pid))
        if (const auto text = read_at_once(base::cat("/proc/", pid, "/task/", thread, "/sched"), 16384))
            if (const auto turn = last_turn_ms(*text))
                last = std::max(last.value_or(0), *turn);
    if (!now || !last)
        return std::nullopt;
    return *now - std::min(*now, *last);
}

std::optional<SchedTimes> read_sched_times(pid_t pid) {
    const std::vector<pid_t> threads = threads_of(pid);
    if (threads.empty())
        return std::nullopt;
    SchedTimes out;
    for (pid_t thread : threads) {
        const std::string base = base::cat("/proc/", pid, "/task/", thread);
        if (auto text = read_at_once(base + "/schedstat", 256))
            add_schedstat(*text, out);
        if (auto text = read_at_once(base + "/stat", 4096))
            if (auto stat = parse_stat(*text))
                out.runnable |= stat->state == 'R';
    }
    return out;
}

} // namespace holdfast::sys
