// Where Holdfast keeps its files. Pure: the environment is passed in.
#pragma once

#include "holdfast/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::core {

using Lookup = std::function<std::optional<std::string>(const char*)>;

struct Places {
    std::string slots;   // locks and records of slots
    std::string helpers; // locks and records of helpers, under fresh ids
    std::string state;   // event log, helper logs; kept over reboots
    std::string config;
    bool runtime_is_fallback = false; // XDG_RUNTIME_DIR was not set
};

// $XDG_RUNTIME_DIR/holdfast/PROFILE (or /tmp/holdfast-UID/PROFILE), $XDG_STATE_HOME/holdfast/PROFILE,
// $XDG_CONFIG_HOME/holdfast; HOLDFAST_HOME moves all three below itself (run/, state/, config/).
// Errors: a bad profile name, a relative path in one of those variables, no HOME.
Result<Places> resolve_places(const Lookup& environment, unsigned uid, std::string_view profile);

} // namespace holdfast::core
