// The slot part of `holdfast run`: policy, PID files of others, PID file of our own.
#pragma once

#include "cli/options.hpp"
#include "holdfast/slot.hpp"
#include "registry/events.hpp"
#include "slot/foreign_holder.hpp"

#include <optional>

namespace holdfast::cli {

struct EnteredSlot {
    std::optional<Ownership> ownership;    // none without --slot
    std::optional<slot::PidFile> pid_file; // destroyed before the ownership is released
    bool attached = false;                 // a healthy owner was found and printed
};

// Does what --slot, --if-held, --adopt and --pidfile ask for. Without any of them: nothing.
Result<EnteredSlot> enter_slot(const Arguments& arguments, const registry::EventLog& events);

} // namespace holdfast::cli
