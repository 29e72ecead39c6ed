// The slot part of `holdfast run`: policy, PID files of others, PID file of our own.
#pragma once

#include "cli/shared/options.hpp"
#include "holdfast/slot.hpp"
#include "host/host_watch.hpp"
#include "keep/front.hpp"
#include "registry/events.hpp"

#include <functional>
#include <optional>

namespace holdfast::cli {

struct EnteredSlot {
    std::optional<Ownership> ownership;  // none without --slot
    std::optional<host::HostWatch> host; // with --slot: whether the command is wanted still
    std::optional<int> attached;         // a healthy owner was found and printed: the exit code
};

// Does what --slot, --if-held, --adopt and --pidfile ask for; `front` is told which PID file to write.
// Without any of them: nothing. Everything that can be found wrong with the words is, before anybody is asked
// to leave. Waits no longer than the host of `front` wants it to: then the error is `cancelled`.
// `sweep` is called once, when nothing is wrong with the words and before the slot is looked at; what is left
// by guards that are killed while we wait is ended as well.
Result<EnteredSlot> enter_slot(const Arguments& arguments, keep::FrontOptions& front,
                               const registry::EventLog& events, const std::function<Result<void>()>& sweep);

// The host went while we waited: nothing was started.
std::unexpected<Error> host_went(const Arguments& arguments);

} // namespace holdfast::cli
