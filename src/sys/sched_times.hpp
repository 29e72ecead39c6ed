// What a process has had of the processors, and what it wanted, over all its threads. Exact where the kernel
// keeps such books (/proc/PID/task/TID/schedstat), in contrast to the 10 ms ticks of /proc/PID/stat.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::sys {

struct SchedTimes {
    std::uint64_t ran_ns = 0;    // of the threads that live; 0 where the kernel keeps no books
    std::uint64_t waited_ns = 0; // runnable, while others had the processor
    bool runnable = false;       // a thread runs or waits to, this moment
};

// Nothing when it has ended or cannot be seen.
std::optional<SchedTimes> read_sched_times(pid_t pid);

// How long no thread of it has run, up to its present turn. Nothing where the kernel does not tell
// (/proc/PID/task/TID/sched), or when it has ended.
std::optional<std::uint64_t> read_idle_ms(pid_t pid);

// When the thread of this text of a /proc/.../sched file began its last turn, by the scheduler's clock.
std::optional<std::uint64_t> last_turn_ms(std::string_view text);

// Adds what the text of one thread's schedstat says.
void add_schedstat(std::string_view text, SchedTimes& times);

} // namespace holdfast::sys
