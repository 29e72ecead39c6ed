// What a supervised process is started with, and how it is treated.
#pragma once

#include "core/supervision.hpp"
#include "sys/pty.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::supervise {

// What makes a start ready.
enum class Readiness {
    started,  // the process runs
    notified, // it said so by sd_notify: READY=1
    told,     // the layer above said so: Generations::told_ready()
};

enum class ErrorOutput { inherit, discard, log }; // the host's stderr, nowhere, or a bounded file

struct ProcessSpec {
    std::vector<std::string> command;     // the first is looked up in PATH when it has no '/'
    std::string directory;                // working directory; empty: the host's
    std::vector<std::string> environment; // "NAME=value", all of it
    std::string label;                    // for `holdfast ps`; empty: the command's name
    // Its stdin, stdout and stderr are a terminal of its own, in a session of its own; `errors` does not
    // count then. Without one, stdin and stdout are pipes.
    std::optional<sys::WindowSize> terminal;
    ErrorOutput errors = ErrorOutput::inherit;
    Readiness readiness = Readiness::started;
    std::string stop_plan = "mcp";    // as for `holdfast run --stop`
    std::string containment = "auto"; // as for `holdfast run --contain`
    core::SupervisionPolicy policy;
};

// `variable` is "NAME=value" and takes the place of others of its name.
void set_variable(std::vector<std::string>& environment, std::string variable);
std::string label_of(const ProcessSpec& spec);

} // namespace holdfast::supervise
