// Where Holdfast keeps its files. Pure: the environment is passed in.
#pragma once

#include "holdfast/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::places {

using Lookup = std::function<std::optional<std::string>(const char*)>;
using HomeOfUser = std::function<std::optional<std::string>()>;

struct Places {
    std::string slots;   // locks and records of slots
    std::string helpers; // locks and records of helpers, under fresh ids
    std::string state;   // helper logs, memory; kept over reboots. Empty when the user has no home
    std::string memory;  // home of the memory; empty when the user has no home
    std::string events;  // event log: the state, or the runtime directory when nothing can be stored there
    std::string config;  // empty when the user has no home
    bool runtime_is_fallback = false; // XDG_RUNTIME_DIR was not set
    bool all_in_one = false;          // below HOLDFAST_HOME
    std::string cannot_store;         // why nothing can be stored in `state`; empty when it can

    // What is kept over reboots is refused from now on, and the event log moves to the runtime directory.
    void store_nothing(std::string why);
    // Error cannot_create, with the reason and the way out, when `what` cannot be stored.
    [[nodiscard]] Result<void> check_store(std::string_view what) const;
};

// $XDG_RUNTIME_DIR/holdfast/PROFILE (or /tmp/holdfast-UID/PROFILE), $XDG_STATE_HOME/holdfast/PROFILE,
// $XDG_CONFIG_HOME/holdfast; HOLDFAST_HOME moves all three below itself (run/, state/, config/). The memory
// is below the state, and that of the default profile directly below HOLDFAST_HOME. `home_of_user` is asked
// when HOME is needed and not set; with no answer there is no state. Errors: a bad profile name, a relative
// path in one of those variables.
Result<Places> resolve_places(const Lookup& environment, unsigned uid, std::string_view profile,
                              const HomeOfUser& home_of_user);

} // namespace holdfast::places
