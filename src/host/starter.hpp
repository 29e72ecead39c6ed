// The process that started this one, for who is to live as long as it does.
#pragma once

#include "holdfast/result.hpp"
#include "sys/pidfd.hpp"

#include <optional>

namespace holdfast::host {

// Held by a pidfd, or nothing when it is an init: that outlives us, or takes us along. Error `cancelled`: it
// has ended already, and whoever is our parent now only took us in. That is certain when
//  - HOLDFAST_PARENT (see parent_watch.hpp) names a process that has ended, or
//  - we are in a session that is neither our parent's nor led by us. A session is inherited at birth and can
//    only be left for one of one's own, so we were born to somebody else; or
//  - our parent is a systemd, and we are in a scope: it starts nothing there.
// What cannot be told from a living starter: one whose orphans go to a process of its own session, and one
// that gave us a session of our own, under an init that is not systemd. HOLDFAST_PARENT closes that gap.
Result<std::optional<sys::PidFd>> hold_starter();

} // namespace holdfast::host
