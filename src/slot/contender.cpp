#include "slot/contender.hpp"

#include "base/names.hpp"
#include "base/text.hpp"
#include "records/record_file.hpp"
#include "slot/leftovers.hpp"
#include "slot/sight.hpp"
#include "sys/directories.hpp"
#include "sys/errors.hpp"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace holdfast::slot {

using core::Do;
using core::Seen;
using core::SlotStep;
using sys::LockByte;

namespace {

constexpr Millis default_wait{10'000}; // for leftovers and the door, when no --wait was given
constexpr int door_patience_ms = 5000;
constexpr Millis last_instant{1000};

} // namespace

Contender::Contender(SlotLocation location, AcquireOptions options, Purpose purpose)
    : location_(std::move(location))
    , options_(std::move(options))
    , purpose_(std::move(purpose)) {
    if (purpose_.epoch)
        memory_ = {.meant_epoch = purpose_.epoch, .last_done = {}, .still_since = sys::boottime_ms()};
}

Result<Acquired> Contender::run() {
    if (auto ok = base::check_slot_name(location_.name); !ok)
        return std::unexpected(ok.error());
    if (auto ok = sys::check_private_directory(location_.directory, !purpose_.take); !ok)
        return std::unexpected(ok.error());
    bool for_ever = options_.if_held == IfHeld::wait || options_.if_held == IfHeld::replace;
    if (!purpose_.take) // as long as somebody may be inside the door; who was asked has a time of its own
        deadline_ = sys::Deadline::in(options_.grace + purpose_.patience);
    else if (options_.wait)
        deadline_ = sys::Deadline::in(*options_.wait);
    else if (!for_ever)
        deadline_ = sys::Deadline::in(default_wait);

    Seen seen = reopen();
    while (!error_) {
        core::SlotCell cell = core::protocol_step(step_, seen);
        if (cell.effect == Do::never)
            return fail(Errc::io, base::cat("the slot protocol has no answer to ", name_of(seen), " at ",
                                            name_of(step_), "; this is a bug in Holdfast"));
        if (purpose_.observe)
            purpose_.observe(step_, seen);
        last_seen_ = seen;
        step_ = cell.next;
        if (cell.effect == Do::report || cell.effect == Do::leave_door_report)
            break;
        seen = carry_out(cell.effect);
        if (step_ == SlotStep::owner && acquired_)
            return std::move(*acquired_);
    }
    waiter_.reset();
    leave_door();
    if (error_)
        return std::unexpected(std::move(*error_));
    if (last_seen_ == Seen::owner_newer && !purpose_.take) {
        // To own the slot it needed life, so nothing of what we meant holds it any more.
        if (owner_)
            (void)owner_->wait_ended(sys::Deadline::in(last_instant));
        return Acquired{.ownership = std::nullopt,
                        .attached_to = describe(location_, sight_, records::read_record(location_))};
    }
    if (last_seen_ == Seen::owner_let_be && options_.if_held == IfHeld::attach)
        return Acquired{.ownership = std::nullopt,
                        .attached_to = describe(location_, sight_, records::read_record(location_))};
    return reason();
}

Seen Contender::carry_out(Do effect) {
    switch (effect) {
    case Do::lock_door:
    case Do::go_to_door:
        waiter_.reset();
        if (owner_ && !purpose_.take)
            (void)owner_->wait_ended(sys::Deadline::in(last_instant));
        if (owner_)
            owner_before_ = std::exchange(owner_, std::nullopt);
        host_.reset();
        host_gone_ = false;
        grace_ = {};
        return start_waiting(LockByte::door, false);
    case Do::reopen:
        return reopen();
    case Do::look_inside:
        return look_inside();
    case Do::take:
        return take();
    case Do::term_leftovers:
        return ask_leftovers();
    case Do::kill_leftovers:
        grace_ = {};
        leftovers_->ender().tick();
        return wait_for_news();
    case Do::leave_door_wait:
        found_anybody_ = true;
        leave_door();
        return start_waiting(LockByte::life, true);
    case Do::leave_door_watch:
        leave_door();
        return start_waiting(LockByte::life, true);
    case Do::leave_door_term:
    case Do::term_owner:
        return signal_owner(SIGTERM);
    case Do::kill_owner:
        return signal_owner(SIGKILL);
    case Do::look_outside:
        return look_outside();
    case Do::see_to_leftovers:
        return see_to_leftovers();
    case Do::keep_watching:
        if (waiter_ && !watch_owner())
            return Seen::time_to_look;
        return waiter_ ? wait_for_news() : start_waiting(LockByte::life, true);
    case Do::nothing:
    case Do::report:
    case Do::leave_door_report:
    case Do::never:
        break;
    }
    return fail_with(
        {.code = Errc::io, .message = "the slot protocol asked for nothing; this is a bug in Holdfast"});
}

Seen Contender::look_inside() {
    if (!lock_->still_at_path())
        return Seen::file_replaced;
    sight_ = lock_->look();
    if (sight_.owned)
        return judge_owner(sight_);
    // Leftovers of a newer owner were not meant either: of those that were nothing is left.
    bool not_meant = purpose_.epoch && sight_.epoch != *purpose_.epoch;
    if (!sight_.life_held || not_meant)
        return Seen::nobody;
    return options_.if_held == IfHeld::replace || ends_ == sight_.epoch ? Seen::leftovers_end
                                                                        : Seen::leftovers_wait;
}

Seen Contender::ask_leftovers() {
    found_anybody_ = true;
    // Of these, life is not the only sign: who holds nothing is found by its mark.
    if (purpose_.end_unguarded && ends_ != sight_.epoch)
        lost_ = purpose_.end_unguarded().lost;
    leftovers_ = std::make_unique<Leftovers>(
        location_, *door_, leftovers_plan(options_.grace, purpose_.patience, purpose_.unseen),
        [this] { return waiter_ ? waiter_->pid() : 0; });
    leftovers_->ender().begin(core::StopReason::asked);
    // As with an owner: who was asked has its grace, and then KILL its time, whatever --wait says. The ender
    // knows both.
    grace_ = leftovers_->ender().next();
    deadline_ = sys::Deadline::never();
    return start_waiting(LockByte::life, false);
}

Seen Contender::look_outside() {
    sight_ = lock_->look();
    return sight_.owned ? judge_owner(sight_) : Seen::owner_gone;
}

Seen Contender::judge_owner(const sys::LockSight& sight) {
    switch (options_.if_held) {
    case IfHeld::refuse:
    case IfHeld::attach:
        // One that is leaving is no healthy owner: who attached to it would be alone in a moment.
        return is_leaving(sight) || works_for_nobody(sight) ? Seen::owner_wait : Seen::owner_let_be;
    case IfHeld::wait:
        return Seen::owner_wait;
    case IfHeld::replace:
        break;
    }
    core::OwnerSight owner{.epoch = sight.epoch,
                           .pid = sight.owner_pid,
                           .is_self = sight.owned_by_self,
                           .record = records::read_record(location_)};
    if (!purpose_.spare_starters) {
        // Stopping is the user's word: it does not wait for a start to finish, and is no takeover.
        if (owner.record) {
            owner.record->phase = Phase::draining;
            owner.record->takeovers.clear();
            owner.record->epoch = sight.epoch;
        } else {
            owner.record = base::Record{.epoch = sight.epoch, .phase = Phase::draining};
        }
    }
    judgement_ = core::judge_takeover(owner, memory_, sys::boottime_ms(), options_.stall.count());
    return judgement_.seen;
}

bool Contender::is_leaving(const sys::LockSight& sight) const {
    auto record = records::read_record(location_);
    return record && record->epoch == sight.epoch && record->phase == Phase::draining;
}

bool Contender::works_for_nobody(const sys::LockSight& sight) const {
    return purpose_.look_after_owner && purpose_.look_after_owner(sight.epoch).gone;
}

// A short stay inside the door, for signalling: an owner lets go of its slot inside the door as well, so that
// who was found to own it still does when the signal goes out. Nobody stays inside for long while an owner
// lives.
bool Contender::enter_door_briefly() {
    if (door_)
        return true;
    auto got = lock_->try_lock(LockByte::door);
    if (got && !*got) {
        auto waiter = lock_->wait_for(LockByte::door, false);
        if (!waiter)
            return false;
        pollfd one{.fd = waiter->fd(), .events = POLLIN, .revents = 0};
        if (::poll(&one, 1, door_patience_ms) <= 0 || !waiter->accept())
            return false;
    }
    door_.emplace(*lock_);
    return true;
}

Seen Contender::signal_owner(int signal) {
    if (!enter_door_briefly())
        return fail_with({.code = Errc::timed_out,
                          .message = base::cat("the slot \"", location_.name,
                                               "\" is being changed by a process that does not "
                                               "go on (stopped?); look at it with: holdfast status ",
                                               location_.name)});
    Seen next = signal_owner_inside(signal);
    leave_door();
    return next == Seen::life_free ? (waiter_ ? wait_for_news() : start_waiting(LockByte::life, true)) : next;
}

// Seen::life_free stands for "now wait for life"; anything else is what was found instead of the owner we
// meant.
Seen Contender::signal_owner_inside(int signal) {
    // Pidfd first, then the question whether that very process still owns the epoch we meant.
    auto process = sys::PidFd::open(sight_.owner_pid);
    sys::LockSight again = lock_->look();
    if (!again.owned)
        return Seen::owner_gone; // what it left behind, if anything, is seen inside the door
    if (!process && process.error().code != Errc::not_found)
        return fail_with(std::move(process.error()));
    if (!process || again.owner_pid != sight_.owner_pid || again.epoch != sight_.epoch) {
        sight_ = again;
        memory_.meant_epoch = memory_.meant_epoch.value_or(again.epoch);
        return judge_owner(again);
    }
    const bool again_only = asked_before(signal);
    auto sent = process->signal(again_only ? SIGCONT : signal);
    if (!sent)
        return fail_with({.code = Errc::not_permitted,
                          .message = base::cat(
                              "may not signal ",
                              owner_for_people(describe(location_, again, records::read_record(location_))),
                              ": ", sys::describe_errno(sent.error().sys)),
                          .sys = sent.error().sys});
    found_anybody_ = true;
    counted_takeover_ = purpose_.take;
    if (signal == SIGTERM) {
        (void)process->signal(SIGCONT); // a stopped process cannot end by itself
        grace_ = end_of_grace(again_only);
        deadline_ = sys::Deadline::never();
    } else {
        grace_ = {};
        deadline_ = sys::Deadline::in(purpose_.patience);
    }
    owner_ = std::move(*process);
    return Seen::life_free;
}

bool Contender::asked_before(int signal) const {
    return signal == SIGTERM && purpose_.asked_at.has_value();
}

sys::Deadline Contender::end_of_grace(bool asked_before) const {
    Millis spent{asked_before ? sys::boottime_ms() - *purpose_.asked_at : 0};
    return sys::Deadline::in(std::max(options_.grace - spent, Millis{0}));
}

void Contender::leave_door() {
    door_.reset();
}

bool Contender::cancel_is_meant() const {
    return !options_.cancel_is_meant || options_.cancel_is_meant();
}

Seen Contender::cancelled() {
    return fail_with({.code = Errc::cancelled,
                      .message = base::cat("gave up waiting for the slot \"", location_.name, "\"")});
}

Seen Contender::fail_with(Error error) {
    error_ = std::move(error);
    return Seen::deadline;
}

} // namespace holdfast::slot
