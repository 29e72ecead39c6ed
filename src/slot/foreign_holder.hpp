// A holder that is not ours and only left a PID file. It is believed only as far as the kernel bears it out.
#pragma once

#include "holdfast/result.hpp"
#include "holdfast/values.hpp"
#include "host/host_watch.hpp"
#include "sys/clock.hpp"
#include "sys/pidfd.hpp"

#include <optional>
#include <string>

namespace holdfast::slot {

struct ForeignHolder {
    sys::PidFd process;
    std::string command;
    bool proven = false; // by start time and the command that the file names, or by `match`
    std::string doubt;   // why it is not proven, for people
};

// Nobody when the file is missing, empty, torn, binary, or names a process that is dead, recycled, or this
// one itself. `match`: an extended regular expression on the command line; empty for none. Error: a bad
// expression. A process whose start time fits and whose command is another than the file names is not proven:
// its number may have been given away again within the time to which the start time is good.
Result<std::optional<ForeignHolder>> find_foreign_holder(const std::string& pid_file,
                                                         const std::string& match);

// Whether `match` is an expression at all: to be known before anybody is asked to leave. Error:
// invalid_argument.
Result<void> check_match(const std::string& match);

// Waits until it has ended. Errors: timed_out, cancelled (the host went first).
Result<void> wait_for_foreign_holder(const ForeignHolder& holder, const sys::Deadline& deadline,
                                     host::HostWatch& host);

// TERM and CONT, grace, KILL, all through the pidfd that was checked. Errors: not_permitted, survivors.
Result<void> end_foreign_holder(const ForeignHolder& holder, Millis grace);

} // namespace holdfast::slot
