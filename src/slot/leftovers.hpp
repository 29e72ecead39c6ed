// Ends what a dead owner left behind.
#pragma once

#include "ending/by_lock.hpp"
#include "ending/ender.hpp"
#include "holdfast/values.hpp"
#include "slot/door.hpp"

#include <sys/types.h>

#include <functional>

namespace holdfast::slot {

// The processes that hold life while the owner byte is free. Inside the door such a process is a leftover,
// and stays one: a starter would have come through the door.
class Leftovers {
public:
    // `own_waiter`: the process of ours that waits for life and holds it from the moment it is granted; 0 for
    // none. The caller stays inside the door for as long as it uses the ender.
    Leftovers(const SlotLocation& location, const Door& inside, ending::Plan plan,
              std::function<pid_t()> own_waiter);
    Leftovers(const Leftovers&) = delete;
    Leftovers& operator=(const Leftovers&) = delete;

    [[nodiscard]] ending::Ender& ender() noexcept { return ender_; }

private:
    ending::LifeHolders holders_;
    ending::Ender ender_;
};

// The end is reached when life comes free, not when a number of processes has ended. A process that leftovers
// start during the grace may use the rest of it. `unseen`: how long to search for a holder that cannot be
// seen.
ending::Plan leftovers_plan(Millis grace, Millis patience, Millis unseen);

// True but for root in another user's directory: there a process of a third user may have been handed the
// descriptor by one who wants it killed. It is named, and left to root to judge.
bool is_of_the_slots_user(const SlotLocation& location, pid_t pid);

} // namespace holdfast::slot
