// PID files of others: reading them without believing them, and writing one for tools that expect it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::records {

struct PidFileEntry {
    int pid = 0;
    std::optional<double> start_time; // ticks since boot, or seconds since 1970: writers differ
    std::vector<std::string> argv;
    std::string kind;
};

// A plain number, or JSON with pid, start_time, argv, kind. Anything else (empty, torn, binary, a negative
// number) is no entry.
std::optional<PidFileEntry> parse_pid_file(std::string_view text);

std::string plain_pid_file(int pid);
std::string json_pid_file(int pid, std::uint64_t start_ticks, const std::vector<std::string>& argv,
                          std::string_view kind);

// What an entry proves about a living process.
enum class PidFileProof {
    recycled, // the start time is another: a different process has that number now
    proven,
    unproven, // nothing to tell by
};
// `start_unix` is when the process started, in seconds since 1970, from boot time and ticks: good to a second
// or so. A start time that fits either way proves; recycled is only what fits neither. Ticks are exact to
// 10 ms; seconds prove to within 2 s, so a number that was given away again in that time would pass.
PidFileProof judge_pid_file(const PidFileEntry& entry, std::uint64_t start_ticks, double start_unix);

// Whether a process with this command line is running the command that a file names. Writers leave out what
// stands before it (an interpreter, `holdfast run --`), and write the first word with its path or without, or
// the file of what was started as `-m module`. True where the file names no command.
bool runs_command(const std::vector<std::string>& named, const std::vector<std::string>& command_line);

// Whether the living process of that number can be the one that wrote the file, last changed at `file_unix`:
// without a start time in it, one that began after that is another.
bool may_have_written(const PidFileEntry& entry, std::uint64_t start_ticks, double start_unix,
                      double file_unix);

} // namespace holdfast::records
