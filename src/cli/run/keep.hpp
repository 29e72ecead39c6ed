// The third step of `holdfast run`: the command is listed in the registry, and kept to its end.
#pragma once

#include "cli/run/enter.hpp"
#include "keep/front.hpp"
#include "registry/events.hpp"

namespace holdfast::cli {

// Takes the host and the PID file out of `entered`; the slot stays with the caller. When this returns, the
// command and everything it started are gone, and so is the entry. Errors: the entry or the log file cannot
// be made; `cancelled`: the host went in the meantime.
Result<keep::FrontResult> keep_command(const RunPlan& plan, Entered& entered,
                                       const registry::EventLog& events);

} // namespace holdfast::cli
