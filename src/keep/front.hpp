// The front: the process the host started and waits for. It owns the slot and the registry entry, hears
// signals and readiness, and waits for the keeper; when the keeper is killed it ends the tree itself.
#pragma once

#include "holdfast/slot.hpp"
#include "keep/keeper_options.hpp"
#include "keep/pty.hpp"
#include "registry/entry.hpp"
#include "registry/events.hpp"
#include "slot/pid_file.hpp"
#include "sys/notify.hpp"
#include "sys/pidfd.hpp"
#include "sys/signals.hpp"

#include <optional>
#include <string>

namespace holdfast::keep {

enum class Readiness {
    automatic, // ready once it runs, unless it speaks of its start before it said READY=1
    notify,    // starting until READY=1
};

// The task of a front, as a plain value.
struct FrontOptions {
    KeepPolicy keep;
    Readiness readiness = Readiness::automatic;
    bool watch_input = true;  // an end of stdin begins the stop plan
    std::string notify_above; // NOTIFY_SOCKET of the service manager above us, or empty
    bool pty = false;
};

// The means of a front. Entry, slot and events stay the caller's, and outlive the run.
struct FrontResources {
    registry::Entry& entry;
    Ownership* slot; // or nullptr
    const registry::EventLog& events;
    std::optional<sys::PidFd> host; // whose death ends the helper; none when it has no host
    // Written when signals are heard, before the keeper starts; removed at the end, by the keeper if need be.
    std::optional<slot::PidFileText> pid_file;
    std::string log; // where the keeper copies the helper's stderr to; empty for nowhere
};

struct FrontResult {
    int status = 0;                         // of the command: its exit code, or 128 + signal
    std::optional<core::StopReason> reason; // why it was ended, if it was
    std::vector<std::string> survivors;     // for people; empty when nothing is left
    std::optional<Error> error;             // the command could not be started, or containment was refused
    bool gave_up = false;                   // restarted too often
};

// Runs the command to its end. `options` outlives the run.
FrontResult run_front(const FrontOptions& options, FrontResources with);

} // namespace holdfast::keep
