// The words of `holdfast run` as one plain value, parsed and checked. The steps that follow (enter, keep,
// report) read this value, and never the words.
#pragma once

#include "cli/shared/options.hpp"
#include "holdfast/slot.hpp"
#include "keep/front.hpp"
#include "places/places.hpp"

#include <sys/types.h>

#include <optional>
#include <string>

namespace holdfast::cli {

// The facts that the meaning of the words depends on.
struct RunSurroundings {
    places::Places places;          // of the profile
    bool client_on_input = false;   // stdin is a pipe or a socket
    bool terminal_on_input = false; // stdin is a terminal
    std::string notify_socket;      // of the service manager above this process, or empty
};

// --host: the process whose death ends the command.
struct HostChoice {
    enum class Kind { parent, none, process };
    Kind kind = Kind::parent;
    pid_t pid = 0; // of Kind::process
};

// --pidfile
struct PidFilePlan {
    std::string path;
    bool json = false;
};

// --adopt: a holder that Holdfast did not start
struct AdoptPlan {
    std::string path;
    std::string match; // a regular expression for its command line, or empty
};

// --slot
struct SlotPlan {
    std::string name;
    std::optional<std::string> directory; // --slot-dir as it was given; none: the slots of the profile
    AcquireOptions acquire;
    std::optional<PidFilePlan> pid_file;
    std::optional<AdoptPlan> adopt;
    bool owner_as_json = false; // --if-held attach --json
};

// The limits as the user wrote them, for the message that one was reached.
struct LimitWords {
    std::string idle;
    std::string max_life;
    std::string memory;
};

struct RunPlan {
    std::string label; // --name, or the name of the command
    std::string session;
    std::string task;
    places::Places places;
    HostChoice host;
    std::optional<SlotPlan> slot;
    keep::FrontOptions front; // the command, and how it is kept
    bool with_log = false;
    LimitWords limits;
};

// Makes no system call. Error `invalid_argument` names the option and the way out.
Result<RunPlan> plan_run(const Arguments& arguments, RunSurroundings around);

// Whether the command may run without an entry in the registry after this error. Never with --slot: the lock
// of a slot is the point of it. Without --slot the entry only informs.
bool may_be_unlisted(const RunPlan& plan, const Error& error);

// The error when the host went while the slot was waited for: nothing was started.
std::unexpected<Error> host_went(const SlotPlan& slot);

} // namespace holdfast::cli
