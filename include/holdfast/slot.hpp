// A slot: a name that at most one process owns, decided by the kernel's locks (docs/slot-protocol.md).
//
//   auto got = holdfast::acquire({.directory = dir, .name = "memory"}, {.if_held = holdfast::IfHeld::wait});
//   if (got && got->ownership)
//       serve(*got->ownership);           // what needs ownership takes it as an argument
//
// Threads: all functions may be called from any thread. An Ownership is used by one thread at a time.
// fork(): the child of a fork does not own what its parent owns; an Ownership in the child does nothing.
#pragma once

#include "holdfast/result.hpp"
#include "holdfast/values.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

struct AcquireOptions {
    IfHeld if_held = IfHeld::refuse;
    // Longest wait: for an owner to go (wait), to be replaced (replace) or, when it is draining already, to
    // be gone (refuse, attach), and for leftovers. None: for ever under wait and replace, 10 s otherwise.
    std::optional<Millis> wait;
    Millis grace{5000};  // replace: from TERM to KILL
    Millis stall{30000}; // replace: a starting owner whose progress stands still this long may be replaced
    std::vector<std::string> argv; // what to call this owner in the record
    std::string address;           // where it can be reached, if known already
    std::string session;
    int cancel_fd = -1; // acquire gives up with `cancelled` when this becomes readable
    // Asked then, if set: false to wait on, after whatever made it readable was taken back.
    std::function<bool()> cancel_is_meant = {};
    // Called once, if set, when there is nothing left to do but wait for an owner or its leftovers to go.
    std::function<void()> before_long_wait = {};
};

// Proof that this process owns a slot. Move-only. Destroying it releases the slot.
class Ownership {
public:
    Ownership(Ownership&&) noexcept;
    Ownership& operator=(Ownership&&) noexcept;
    Ownership(const Ownership&) = delete;
    Ownership& operator=(const Ownership&) = delete;
    ~Ownership();

    [[nodiscard]] std::uint64_t epoch() const noexcept;
    [[nodiscard]] const SlotLocation& location() const noexcept;

    // Says how far the start has come. Patience of contenders moves with `done`; the same number twice is no
    // progress.
    Result<void> report_progress(std::uint64_t done, std::uint64_t total = 0, std::string status = {});
    // Asks contenders for this much more patience, whatever progress says (EXTEND_TIMEOUT_USEC).
    Result<void> extend_patience(Millis more);
    Result<void> set_status(std::string status);
    Result<void> set_address(std::string address);
    // Goes back to starting: a command that turned out to have more to open.
    Result<void> starting();
    Result<void> ready();
    Result<void> draining();

    // The descriptor that carries life (close-on-exec). A process that inherits it keeps successors out until
    // it ends: give it to exactly those that must be gone before a successor starts. Valid as long as the
    // Ownership. Never close it or a copy of it in this process: by the rules of POSIX locks that would drop
    // the ownership. Make the copy in the child (dup2 in a spawn's file actions), or clear close-on-exec for
    // the time of the spawn.
    [[nodiscard]] int life_fd() const noexcept;

    // Readable when the lock file was touched from outside; then ask still_mine(). Made at the first call,
    // since closing such a watch costs milliseconds: not worth it for an owner that lives for less. -1 when
    // the machine has no inotify instance left: ask still_mine() every few seconds then.
    [[nodiscard]] int watch_fd();
    // `lost` when the lock file was wiped away: drain and leave, somebody else may own the new file of that
    // name.
    Result<void> still_mine();

    // Gives the slot up. Also done by the destructor. Processes that inherited life_fd() keep the slot
    // orphaned.
    void release() noexcept;

    // For Holdfast's own layers: what stands behind it.
    class State;
    explicit Ownership(std::unique_ptr<State> state) noexcept;
    [[nodiscard]] State* state() const noexcept { return state_.get(); }

private:
    std::unique_ptr<State> state_;
};

// acquire() succeeded: either this process owns the slot now, or (policy attach) a healthy owner does.
struct Acquired {
    std::optional<Ownership> ownership;
    SlotInfo attached_to; // the owner that was found; only under attach without ownership
};

// Takes a slot under a policy. What a helper of `holdfast run` has left behind whose guards were both killed
// is ended on the way; other leftovers of a dead owner are waited for, or ended under replace. What cannot be
// ended, or not be found, is named at once (survivors), unless a wait was asked for. Errors: held, timed_out,
// orphaned (leftovers did not go), superseded, too_many_takeovers, unreachable, not_permitted, survivors,
// unsafe_directory, cancelled, no_space, io.
Result<Acquired> acquire(const SlotLocation& location, const AcquireOptions& options);

// Looks at one slot, or at all slots of a directory. Takes, writes and removes nothing.
Result<SlotInfo> query(const SlotLocation& location);
Result<std::vector<SlotInfo>> list_slots(const std::string& directory);

struct StopOptions {
    Millis grace{5000};     // from TERM to KILL
    bool now = false;       // KILL at once
    Millis patience{30000}; // from KILL to giving up with `survivors`
    // The ownership that is meant, as SlotInfo::epoch told it; none: the one that is there at the call.
    std::optional<std::uint64_t> epoch = {};
};

struct Stopped {
    bool anybody = false; // whether there was an owner, or leftovers of one
    // Somebody who waited, and has the slot now. What was meant is gone; the newer owner was left alone.
    std::optional<SlotInfo> successor = {};
};

// Ends the owner and everything that holds the slot's life. Returns when nothing of the ownership that was
// meant is left. Never ends a newer one. Errors: unreachable, not_permitted, survivors, timed_out (the slot
// is being changed by a process that does not go on).
Result<Stopped> stop_slot(const SlotLocation& location, const StopOptions& options);

enum class WaitFor { ready, free };

// Waits until the slot is ready or free. Errors: timed_out, cancelled.
Result<SlotInfo> wait_for(const SlotLocation& location, WaitFor what, std::optional<Millis> at_most,
                          int cancel_fd = -1);

} // namespace holdfast
