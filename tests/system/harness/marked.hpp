// Finding what is left. A test marks everything it starts with a token, in the environment and in the
// arguments; afterwards every process of the machine is asked (through /proc) whether it carries that token.
// This does not depend on parenthood, groups, sessions or cgroups, so no escape from those hides a survivor.
#pragma once

#include "harness/deadline.hpp"
#include "holdfast/result.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace holdfast::harness {

struct ProcessInfo {
    pid_t pid = 0;
    pid_t ppid = 0;
    pid_t pgid = 0;
    pid_t sid = 0;
    char state = '?';             // as in /proc/PID/stat: R S D T t Z X
    unsigned long long start = 0; // field 22, clock ticks since boot
    std::string name;             // comm, whatever characters it holds
    std::string cmdline;          // arguments joined by blanks
    [[nodiscard]] bool dead() const { return state == 'Z' || state == 'X'; }
};
std::string to_string(const ProcessInfo& process);
std::string to_string(const std::vector<ProcessInfo>& processes);

// What /proc says of one process; not_found when it is gone.
Result<ProcessInfo> inspect(pid_t pid);

// A token that no other test run uses: "hf" and 16 random hexadecimal digits.
std::string fresh_token();

// Every living process (no zombies), except the caller itself, whose environment or arguments contain the
// token. One pass over /proc: what forks and exits quickly may slip through a single pass (its successor got
// a number behind the cursor), which is why assertions use settled_survivors.
std::vector<ProcessInfo> marked_processes(std::string_view token);

// Every process, zombies included, below `root` by parenthood; `root` itself is not in it.
std::vector<ProcessInfo> descendants(pid_t root);

// Waits until three passes in a row find nothing, at most until the deadline; then gives what is still there.
// Empty means: nothing left, seen three times, also when the deadline has passed before the first look.
// `left_out`: a process that may live.
std::vector<ProcessInfo> settled_survivors(std::string_view token, const Deadline& deadline,
                                           pid_t left_out = 0);

// Kills every marked process: pidfd first, token checked again after, signal through the pidfd; until three
// passes find nothing. Returns how many signals were sent; survivors when the deadline passed first.
Result<int> end_marked(std::string_view token, const Deadline& deadline);

// Owns a token and, when it goes, whatever still carries it. Declare it before everything that is started
// under it.
class MarkGuard {
public:
    MarkGuard()
        : token_(fresh_token()) {}
    ~MarkGuard() { (void)end_marked(token_, Deadline::in(std::chrono::seconds(25))); }
    MarkGuard(const MarkGuard&) = delete;
    MarkGuard& operator=(const MarkGuard&) = delete;

    [[nodiscard]] const std::string& token() const noexcept { return token_; }
    [[nodiscard]] std::string env() const { return "ZOO_TOKEN=" + token_; }    // for SpawnSpec::env
    [[nodiscard]] std::string argument() const { return "--token=" + token_; } // for SpawnSpec::argv
    [[nodiscard]] std::vector<ProcessInfo> survivors(const Deadline& deadline) const {
        return settled_survivors(token_, deadline);
    }

private:
    std::string token_;
};

} // namespace holdfast::harness
