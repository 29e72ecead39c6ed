// What /proc tells of a process. Everything here is a sighting: by the time it is read it may be history, so
// a caller that acts on it opens a pidfd first and looks again after.
#pragma once

#include "base/identity.hpp"
#include "holdfast/result.hpp"
#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sys {

struct ProcStat {
    std::string comm;
    char state = '?'; // R S D T t Z X …
    pid_t ppid = 0;
    pid_t pgrp = 0;
    pid_t session = 0;
    int tty = 0;
    std::uint64_t start_ticks = 0;
    std::uint64_t cpu_ticks = 0; // user and system
    std::uint64_t rss_pages = 0;
    bool kernel_thread = false;
    bool exiting = false; // on its way out: it runs no more code of its own, but its pidfd may not say so yet
};

// Parses the text of /proc/PID/stat, after the last ')': a process may be called "a) b (c".
std::optional<ProcStat> parse_stat(std::string_view text);
std::optional<ProcStat> read_stat(pid_t pid);
// What a keeper calls itself (ProcStat::comm).
inline constexpr const char* keeper_name = "holdfast-keep";

std::vector<std::string> read_cmdline(pid_t pid); // empty for kernel threads, zombies and the gone
std::string command_line_for_people(pid_t pid);   // argv joined, or [comm], cut at 200 characters
std::string join_command(const std::vector<std::string>& argv); // quoted where needed, cut at 200 characters

std::vector<pid_t> all_pids();
std::vector<pid_t> threads_of(pid_t pid);
std::vector<int> open_descriptors();       // our own; empty without /proc
std::vector<pid_t> children_of(pid_t pid); // living and zombie children, of all its threads
// Another process's environment as it was at exec, each variable with a zero byte after it. Empty for a
// zombie, for a kernel thread, and for an instant while a process is inside exec.
std::optional<std::string> read_environment(pid_t pid);
std::optional<std::string> variable_in(std::string_view environment, std::string_view name);
std::optional<std::string> read_environment_variable(pid_t pid, std::string_view name);
// This signal was sent to it, and it has neither acted on it nor collected it.
bool is_pending(pid_t pid, int signal);
// The text of its /proc/PID/cgroup; empty when it is gone.
std::string read_cgroups(pid_t pid);
// When a process of that start time began, in seconds since 1970: good to a second or two.
double start_unix_seconds(std::uint64_t start_ticks);
// The user whose process it is (the real uid), whoever may inspect it. Nothing when it is gone.
std::optional<uid_t> user_of(pid_t pid);
// It has been sent SIGKILL or is already ending: nothing can keep it alive, and nothing is left for it to do.
bool is_doomed(pid_t pid);
// A signal has stopped it. Not one that is traced: it is in the hands of a debugger, or of a leak checker.
bool is_stopped(pid_t pid);
// SIGCONT, when it is stopped; never otherwise: to whoever is about to trace it, it would undo the stop that
// that one waits for.
void continue_stopped(const PidFd& process);

// The identity of a living process behind an open pidfd. Error not_found when it has ended.
Result<base::Identity> identify(const PidFd& process);
// The living process that an identity was once taken of, and no other: a pidfd opened first, identity
// compared after. Errors: not_found (it has ended, or its number belongs to somebody else now), unreachable
// (another PID namespace).
Result<PidFd> open_same(const base::Identity& identity);
// Our own, with a token.
Result<base::Identity> identify_self(std::string token);

const std::string& boot_id();
std::uint64_t pid_namespace_inode();

// Reads a small file whole; nothing when it cannot be read or is larger than `limit`.
std::optional<std::string> read_small_file(const std::string& path, std::size_t limit = 1 << 20);
// The same for what one read gives whole: a regular file, or a page of /proc that is a single record. A read
// that does not fill its buffer was the last one, and is not asked again.
std::optional<std::string> read_at_once(const std::string& path, std::size_t limit = 1 << 20);

} // namespace holdfast::sys
