// The second step of `holdfast run`: the host is held, what double kills left is ended, and the slot is
// taken.
#pragma once

#include "cli/run/plan.hpp"
#include "host/host_watch.hpp"
#include "registry/events.hpp"
#include "slot/pid_file.hpp"
#include "sys/pidfd.hpp"

#include <optional>

namespace holdfast::cli {

struct Entered {
    std::optional<sys::PidFd> host;            // whose death ends the command; none when it has no host
    std::optional<Ownership> slot;             // none without --slot
    std::optional<host::HostWatch> wanted;     // with --slot: whether anybody still wants the command
    std::optional<slot::PidFileText> pid_file; // to be written once signals are heard
    std::optional<SlotInfo> attached_to;       // --if-held attach: this owner serves, so nothing is started
};

// Everything that can be found wrong is found before anybody is asked to leave. Waits no longer than the host
// wants the command: then the error is `cancelled`.
Result<Entered> enter(const RunPlan& plan, const registry::EventLog& events);

} // namespace holdfast::cli
