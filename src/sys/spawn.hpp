// Starting a process: vfork-style, so that a host of any size starts one in well under a millisecond, with a
// pidfd from the first instant, and with the errno of a failed exec.
#pragma once

#include "holdfast/result.hpp"
#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sys {

struct SpawnSpec {
    std::vector<std::string> argv; // argv[0] is searched in PATH when it has no '/'
    std::string executable;        // when set, this is executed instead, and argv[0] is only a name
    std::optional<std::vector<std::string>> env; // "NAME=value"; none: our own
    std::vector<std::pair<int, int>>
        fds; // (number here, number there); all others are close-on-exec or inherited
    std::optional<pid_t> process_group; // 0: a new one of its own
    bool new_session = false;
    int controlling_tty = -1; // number here; needs new_session
    std::string directory;
    int cgroup_procs = -1;        // open cgroup.procs: the child moves itself there before exec
    int cgroup_birth = -1;        // open directory of that cgroup: the child is born there, if it can be
    bool die_with_parent = false; // SIGKILL when the spawning *thread* ends
    bool take_foreground = false; // its new process group becomes the terminal's foreground group
};

// Signals are at their defaults and unblocked in the child, except that HUP, INT and QUIT stay ignored when
// we ignore them: `nohup` and a shell's background job want it so. Error cannot_start: the command could not
// be executed, `sys` says why.
Result<PidFd> spawn(const SpawnSpec& spec);

} // namespace holdfast::sys
