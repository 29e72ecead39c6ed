// What a keeper is told, as its command line: it can be read in `ps`, and needs no file and no parser of its
// own.
#pragma once

#include "core/backoff.hpp"
#include "core/stop_plan.hpp"
#include "holdfast/result.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace holdfast::keep {

enum class Containment { automatic, plain, cgroup, pid_namespace };
enum class Restart { never, on_failure, always };

struct KeeperOptions {
    std::string id; // of the registry entry: the mark, and the name of the cgroup
    int control_fd = -1;
    int host_fd = -1;          // pidfd of the host, or -1
    std::vector<int> life_fds; // inherited by the helper's tree
    int own_life_fd = -1;      // the keeper's alone: of a slot whose helper leaves daemons behind on purpose
    core::StopPlan plan = core::default_stop_plan();
    Containment containment = Containment::automatic;
    std::vector<std::string> spare;
    Restart restart = Restart::never;
    core::BackoffPolicy backoff;
    base::Millis idle{0}; // 0: no limit, as with the next two
    base::Millis max_life{0};
    unsigned long long memory = 0;
    int terminal_fd = -1;          // slave side of a pty: becomes stdio and controlling terminal
    bool join_front_group = false; // an interactive job: the helper shares the front's process group
    pid_t front_group = 0;
    std::string log;      // copy of stderr
    std::string pid_file; // of the front; removed when the front dies without having done so
    pid_t front = 0;      // whom it names
    // Where to log what a front that was killed can no longer log, and as whose.
    std::string events;
    std::string label;
    std::vector<std::string> command;
    bool is_fork = false; // the keeper is a fork of the front, and has its command line; not passed on
};

std::vector<std::string> to_argv(const KeeperOptions& options);
Result<KeeperOptions> parse_keeper_argv(const std::vector<std::string>& argv);

Result<Containment> parse_containment(std::string_view text);
std::string_view name_of(Containment containment) noexcept;
Result<Restart> parse_restart(std::string_view text);

// Life descriptors get high numbers in the tree, out of the way of programs that count on low ones: these,
// where they are free.
inline constexpr int first_life_number = 240;
inline constexpr int most_given_descriptors = 5; // two lives, control, host, terminal

} // namespace holdfast::keep
