// One process's way to a slot: carries out the effects of core/slot_protocol.
#pragma once

#include "base/helper_facts.hpp"
#include "base/identity.hpp"
#include "core/slot_protocol.hpp"
#include "core/takeover.hpp"
#include "holdfast/slot.hpp"
#include "slot/door.hpp"
#include "slot/leftovers.hpp"
#include "slot/tending.hpp"
#include "sys/file_watch.hpp"
#include "sys/lock_file.hpp"
#include "sys/pidfd.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::slot {

// What a contender came for.
struct Purpose {
    bool take = true; // false: only to see the owner and its leftovers gone (stop)
    bool spare_starters =
        true; // false: a starting owner may be asked at once, and takeovers are not counted (stop)
    Millis patience{30000}; // from KILL to giving up
    bool create = true;     // false: a slot without a lock file is not made, but the error not_found
    // Takes over what a dead owner said of its helper, its start and its words: the record never lacks them,
    // not even when the new owner dies a moment later.
    bool inherit_record = false;
    // What the first record already says of the helper behind the entry.
    std::optional<base::HelperFacts> helper = {};
    // stop: the ownership that is meant. Whatever is newer is left alone, however it comes to be there.
    std::optional<std::uint64_t> epoch = {};
    // stop: its owner was asked at this moment (boot time in ms). It is not asked twice, since a second TERM
    // makes many a program drop what it is finishing; its grace runs from then.
    std::optional<std::int64_t> asked_at = {};
    // Ends those of the slot's leftovers that nobody guards any more, and returns the guards of the others:
    // when one of those has ended, it is asked again. Without it leftovers are waited for, whoever they are.
    std::function<Tended()> end_unguarded = {};
    // Asks for the host of the owner of that epoch. When it is dead, continues the owner and its keeper if a
    // signal has stopped them: they would never hear of it.
    std::function<OwnersHost(std::uint64_t)> look_after_owner = {};
    // Told once what holds the slot, when a wait that the caller asked for may never end by itself.
    std::function<void(const std::string&)> tell_blocked = {};
    // So long those are looked for that hold life and cannot be seen.
    Millis unseen{250};
    // Told of each cell of the protocol's table that is carried out, before it is.
    std::function<void(core::SlotStep, core::Seen)> observe = {};
};

class Contender {
public:
    Contender(SlotLocation location, AcquireOptions options, Purpose purpose);
    // Runs to an end. Under `take == false` the result has no ownership.
    Result<Acquired> run();
    // Whether anybody had to go (for stop).
    [[nodiscard]] bool found_anybody() const noexcept { return found_anybody_; }

private:
    core::Seen carry_out(core::Do effect);
    core::Seen look_inside();
    core::Seen look_outside();
    core::Seen judge_owner(const sys::LockSight& sight);
    core::Seen signal_owner(int signal);
    core::Seen signal_owner_inside(int signal);
    bool enter_door_briefly();
    core::Seen wait_for_news();
    core::Seen accept_grant(); // of waiter_, which has reported
    core::Seen see_to_leftovers();
    std::optional<core::Seen> end_or_name_unguarded();
    void look_after_owner();
    core::Seen ask_leftovers();
    bool watch_owner();
    bool watch_directory();
    core::Seen take();
    core::Seen reopen();
    core::Seen fail_with(Error error);
    core::Seen cancelled();
    [[nodiscard]] bool cancel_is_meant() const;
    core::Seen start_waiting(sys::LockByte byte, bool shared);
    [[nodiscard]] bool wants_every_word() const;
    void leave_door();
    [[nodiscard]] bool works_for_nobody(const sys::LockSight& sight) const;
    [[nodiscard]] bool is_leaving(const sys::LockSight& sight) const;
    [[nodiscard]] bool asked_before(int signal) const;
    [[nodiscard]] sys::Deadline end_of_grace(bool asked_before) const;
    bool identify_self();
    bool outwait_readers(); // of life; false: error_ says why, or it was cancelled
    std::unexpected<Error> reason();

    SlotLocation location_;
    AcquireOptions options_;
    Purpose purpose_;
    core::SlotStep step_ = core::SlotStep::door;
    core::Seen last_seen_ = core::Seen::deadline;

    std::optional<sys::LockFile> lock_;
    std::optional<Door> door_;
    std::optional<sys::LockWaiter> waiter_;
    // Waiters that have brought what they were sent for. To see them end would cost the successor the time of
    // a process's death; it is done when the slot is taken.
    std::vector<sys::LockWaiter> done_waiting_;
    sys::LockByte waiting_for_ = sys::LockByte::door;
    bool waiting_shared_ = false;

    core::TakeoverMemory memory_;
    core::TakeoverJudgement judgement_;
    std::optional<sys::PidFd> owner_;
    std::optional<sys::PidFd> owner_before_; // no longer watched: to close it is left until the slot is taken
    std::optional<sys::FileWatch> watch_;
    std::unique_ptr<Leftovers> leftovers_; // once they were asked
    std::vector<sys::PidFd> guards_;       // of leftovers that are waited for
    std::vector<LostTree> lost_;           // whose leftovers they are
    std::optional<std::uint64_t> ends_;    // the epoch whose leftovers nobody guards: the policy is not asked
    std::optional<sys::PidFd> host_;       // of the owner that is waited for
    bool host_gone_ = false;
    std::optional<std::uint64_t> seen_to_; // the epoch of which nothing unguarded is left
    std::optional<base::Identity> self_;   // found out before a wait, so that it is there when the slot is
    sys::Deadline deadline_;               // of the whole wait
    sys::Deadline grace_;                  // of the present step
    sys::LockSight sight_;                 // the last one
    bool found_anybody_ = false;
    bool counted_takeover_ = false;
    std::optional<Error> error_;
    std::optional<Acquired> acquired_;
};

} // namespace holdfast::slot
