// PID files in `holdfast run`: the process that --adopt names, and the text of --pidfile.
#pragma once

#include "cli/run/plan.hpp"
#include "host/host_watch.hpp"
#include "registry/events.hpp"
#include "slot/pid_file.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

// Whether the file of --pidfile can be written, as far as can be told without doing it. A file that names a
// living process that is neither the owner of the slot nor the holder that --adopt is about is somebody
// else's. Errors: cannot_create, not_permitted.
Result<void> check_pid_file(const SlotPlan& slot, const SlotLocation& location);

// The file of --pidfile (which was given), about this process.
slot::PidFileText pid_file_text(const SlotPlan& slot, const std::vector<std::string>& command);

// --adopt: waits for the holder that the PID file names, or ends it, as --if-held says and as far as it is
// proven to be the holder. The result is that holder when it is attached to; nothing when the way is free.
Result<std::optional<SlotInfo>> settle_foreign_holder(const SlotPlan& slot, host::HostWatch& wanted,
                                                      const registry::EventLog& events);

} // namespace holdfast::cli
