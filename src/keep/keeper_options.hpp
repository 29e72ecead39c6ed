// How a helper is kept, as values, and the one serialized form of them.
//
// `holdfast run` forks its keeper, which then has the value in memory. The library executes holdfast-keep,
// which gets the value as its command line: words that `ps` shows as they are. A fork shows the same words.
#pragma once

#include "core/backoff.hpp"
#include "core/stop_plan.hpp"
#include "holdfast/result.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::keep {

enum class Containment { automatic, plain, cgroup, pid_namespace };
enum class Restart { never, on_failure, always };

// The decisions of the user, or of the library's host.
struct KeepPolicy {
    std::vector<std::string> command;
    core::StopPlan plan = core::default_stop_plan();
    Containment containment = Containment::automatic;
    std::vector<std::string> spare; // daemons that may be left behind: regular expressions
    Restart restart = Restart::never;
    core::BackoffPolicy backoff; // of `restart`; its factor, jitter and window have no words
    base::Millis idle{0};        // 0: no limit, as with the next two
    base::Millis max_life{0};
    unsigned long long memory = 0;
};

// With the additions of the process that starts the keeper: the descriptors that the keeper finds, and where
// it writes.
struct KeeperOptions : KeepPolicy {
    std::string id; // of the registry entry: the mark, and the name of the cgroup
    int control_fd = -1;
    int host_fd = -1;          // pidfd of the host, or -1
    std::vector<int> life_fds; // inherited by the helper's tree
    int own_life_fd = -1;      // the keeper's alone: of a slot whose helper leaves daemons behind on purpose
    int terminal_fd = -1;      // slave side of a pty: becomes stdio and controlling terminal
    std::optional<pid_t> join_group; // an interactive job: the helper shares this process group
    std::string log;                 // copy of stderr
    std::string pid_file;            // of the front; removed when the front dies without having done so
    pid_t front = 0;                 // whom it names
    // Where to log what a front that was killed can no longer log, and as whose.
    std::string events;
    std::string label;
    bool is_fork = false; // the keeper is a fork of the front, and has its command line; not serialized
};

// The form changes with every change of an option, and with it protocol_version (keep/control.hpp), which is
// its first word. A keeper that passed over an option would keep the helper in another way than was asked, so
// it reads its own version and no other. "holdfast-keep --protocol=1 --control=N ... -- COMMAND"
std::vector<std::string> to_argv(const KeeperOptions& options);
// Error: invalid_argument. The caller has asked other_protocol_in() before.
Result<KeeperOptions> parse_keeper_argv(const std::vector<std::string>& argv);

Result<Containment> parse_containment(std::string_view text);
std::string_view name_of(Containment containment) noexcept;
Result<Restart> parse_restart(std::string_view text);
std::string_view name_of(Restart restart) noexcept;

// Life descriptors get high numbers in the tree, out of the way of programs that count on low ones: these,
// where they are free.
inline constexpr int first_life_number = 240;
inline constexpr int most_given_descriptors = 5; // two lives, control, host, terminal

} // namespace holdfast::keep
