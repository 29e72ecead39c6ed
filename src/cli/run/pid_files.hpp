// PID files in `holdfast run`: whom --adopt names, and what --pidfile is to say.
#pragma once

#include "cli/shared/options.hpp"
#include "holdfast/slot.hpp"
#include "host/host_watch.hpp"
#include "registry/events.hpp"
#include "slot/pid_file.hpp"

#include <optional>

namespace holdfast::cli {

// Whether the file of --pidfile can be written, as far as can be told without doing it. One that names a
// living process that is neither the owner of the slot nor the holder that --adopt is about is somebody
// else's. Errors: cannot_create, not_permitted.
Result<void> check_pid_file(const Arguments& arguments, const SlotLocation& location);

// What --pidfile asks for, about this process.
std::optional<slot::PidFileText> pid_file_text(const Arguments& arguments);

// Somebody who is not ours holds what we are to take: by the word of a PID file, as far as it is proven.
// Who it is when it is attached to; nothing when the way is free.
Result<std::optional<SlotInfo>> settle_foreign_holder(const Arguments& arguments,
                                                      const AcquireOptions& options, host::HostWatch& host,
                                                      const registry::EventLog& events);

} // namespace holdfast::cli
