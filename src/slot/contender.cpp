#include "slot/contender.hpp"

#include "core/names.hpp"
#include "core/text.hpp"
#include "slot/leftovers.hpp"
#include "slot/ownership.hpp"
#include "slot/paths.hpp"
#include "slot/sight.hpp"
#include "sys/directories.hpp"
#include "sys/errors.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"
#include "sys/whole_file.hpp"

#include <poll.h>

#include <csignal>

namespace holdfast::slot {

using core::Do;
using core::Seen;
using core::Step;
using sys::LockByte;

namespace {

constexpr Millis default_wait{10'000}; // for leftovers and the door, when no --wait was given
constexpr int door_patience_ms = 5000;
constexpr Millis last_instant{1000};
constexpr Millis own_turn{50};    // between looks at what another thread of ours has come to
constexpr Millis look_again{250}; // only where the machine has no inotify instance left for us

} // namespace

Contender::Contender(SlotLocation location, AcquireOptions options, Purpose purpose)
    : location_(std::move(location))
    , options_(std::move(options))
    , purpose_(purpose) {}

Result<Acquired> Contender::run() {
    if (auto ok = core::check_slot_name(location_.name); !ok)
        return std::unexpected(ok.error());
    if (auto ok = sys::check_private_directory(location_.directory); !ok)
        return std::unexpected(ok.error());
    bool for_ever = options_.if_held == IfHeld::wait || options_.if_held == IfHeld::replace;
    if (options_.wait)
        deadline_ = sys::Deadline::in(*options_.wait);
    else if (!for_ever)
        deadline_ = sys::Deadline::in(default_wait);

    Seen seen = reopen();
    while (!error_) {
        core::Cell cell = core::protocol_step(step_, seen);
        if (cell.effect == Do::never)
            return fail(Errc::io, core::cat("the slot protocol has no answer to ", name_of(seen), " at ",
                                            name_of(step_), "; this is a bug in Holdfast"));
        last_seen_ = seen;
        step_ = cell.next;
        if (cell.effect == Do::report || cell.effect == Do::leave_door_report)
            break;
        seen = carry_out(cell.effect);
        if (step_ == Step::owner && acquired_)
            return std::move(*acquired_);
    }
    waiter_.reset();
    leave_door();
    if (error_)
        return std::unexpected(std::move(*error_));
    if (last_seen_ == Seen::owner_let_be && options_.if_held == IfHeld::attach)
        return Acquired{.ownership = std::nullopt,
                        .attached_to = describe(location_, sight_, read_record(location_))};
    return reason();
}

Seen Contender::carry_out(Do effect) {
    switch (effect) {
    case Do::lock_door:
    case Do::go_to_door:
        waiter_.reset();
        if (owner_ && !purpose_.take)
            (void)owner_->wait_ended(sys::Deadline::in(last_instant));
        owner_.reset();
        grace_ = {};
        return start_waiting(LockByte::door, false);
    case Do::reopen:
        return reopen();
    case Do::look_inside:
        return look_inside();
    case Do::take:
        return take();
    case Do::term_leftovers:
        found_anybody_ = true;
        leftovers_ = hold_leftovers(location_, *door_, waiter_ ? waiter_->pid() : 0);
        signal_all(leftovers_, SIGTERM);
        grace_ = sys::Deadline::in(options_.grace);
        return start_waiting(LockByte::life, false);
    case Do::kill_leftovers:
        leftovers_ = hold_leftovers(location_, *door_, waiter_ ? waiter_->pid() : 0);
        signal_all(leftovers_, SIGKILL);
        if (last_seen_ == Seen::grace_over) {
            grace_ = {};
            deadline_ = sys::Deadline::in(purpose_.patience);
        }
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
    case Do::keep_watching:
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

Seen Contender::reopen() {
    waiter_.reset();
    leave_door();
    lock_.reset();
    step_ = Step::door;
    // Within one process the threads queue up before the kernel is asked.
    for (sys::Deadline turn = sys::Deadline::at(0);; turn = deadline_.earlier(sys::Deadline::in(own_turn))) {
        auto lock = sys::LockFile::open(lock_path(location_), turn, purpose_.create);
        if (lock) {
            lock_ = std::move(*lock);
            return start_waiting(LockByte::door, false);
        }
        if (lock.error().code != Errc::held)
            return fail_with(std::move(lock.error()));
        auto sight = sys::LockFile::look(lock_path(location_));
        if (!sight)
            return fail_with(std::move(sight.error()));
        sight_ = *sight;
        // Only an owner makes it held. A thread that is still on its way may yet find somebody else there, or
        // fail.
        if (sight_.owned && options_.if_held != IfHeld::wait) {
            if (options_.if_held == IfHeld::replace)
                return fail_with(
                    std::move(lock.error())); // owned by us, or another thread of ours is after it already
            step_ = Step::inside;
            return Seen::owner_let_be;
        }
        pollfd cancel{.fd = options_.cancel_fd, .events = POLLIN, .revents = 0};
        if (::poll(&cancel, 1, 0) > 0)
            return cancelled();
        if (deadline_.passed())
            return Seen::deadline;
    }
}

Seen Contender::start_waiting(LockByte byte, bool shared) {
    waiting_for_ = byte;
    waiting_shared_ = shared;
    // The usual case first, without a waiter: it is free.
    if (!shared) {
        auto got = lock_->try_lock(byte);
        if (!got)
            return fail_with(std::move(got.error()));
        if (*got) {
            if (byte == LockByte::life)
                return Seen::life_free;
            door_.emplace(*lock_);
            return Seen::door_granted;
        }
    }
    auto waiter = lock_->wait_for(byte, shared);
    if (!waiter)
        return fail_with(std::move(waiter.error()));
    waiter_ = std::move(*waiter);
    if (wants_every_word() && !watch_) {
        if (auto made = sys::FileWatch::on_directory(location_.directory))
            watch_ = std::move(*made);
        return Seen::time_to_look; // what happened before the watch stood would otherwise be missed
    }
    return wait_for_news();
}

// Patience needs to see each word of the owner. Who waits for leftovers without wanting to wait for an owner
// needs to see one begin. Otherwise a pidfd or the lock tells, and the watch is spared: closing it costs the
// kernel milliseconds, and a takeover should not pay them.
bool Contender::wants_every_word() const {
    return step_ == Step::patient || (step_ == Step::waiting && options_.if_held != IfHeld::wait);
}

Seen Contender::wait_for_news() {
    for (;;) {
        std::vector<pollfd> fds;
        auto add = [&fds](int fd) {
            if (fd >= 0)
                fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
            return fd >= 0 ? static_cast<int>(fds.size()) - 1 : -1;
        };
        int at_waiter = add(waiter_ ? waiter_->fd() : -1);
        int at_cancel = add(options_.cancel_fd);
        int at_owner = add(owner_ ? owner_->fd() : -1);
        // The watch outlives the wait it was made for, but its news is wanted in that kind of wait only.
        int at_watch = add(watch_ && wants_every_word() ? watch_->fd() : -1);
        bool holds_dead_leftovers = step_ == Step::leftovers_killed && !leftovers_.empty();
        int at_leftover = add(holds_dead_leftovers ? leftovers_.back().fd() : -1);

        sys::Deadline next = deadline_.earlier(grace_);
        if (step_ == Step::patient && judgement_.look_again_at)
            next = next.earlier(sys::Deadline::at(*judgement_.look_again_at));
        if (wants_every_word() && !watch_)
            next = next.earlier(sys::Deadline::in(look_again));

        int n = ::poll(fds.data(), fds.size(), next.poll_timeout());
        if (n < 0 && errno != EINTR)
            return fail_with(sys::fail_sys("poll").error());
        auto turned = [&](int at) {
            return n > 0 && at >= 0 && fds[static_cast<std::size_t>(at)].revents != 0;
        };

        if (turned(at_waiter)) {
            auto accepted = waiter_->accept();
            if (!accepted)
                return fail_with(std::move(accepted.error()));
            waiter_.reset();
            if (waiting_for_ == LockByte::door) {
                door_.emplace(*lock_);
                return Seen::door_granted;
            }
            if (!waiting_shared_)
                lock_->note_taken(LockByte::life);
            return Seen::life_free;
        }
        if (turned(at_cancel))
            return cancelled();
        if (turned(at_leftover)) {
            leftovers_.pop_back();
            if (leftovers_.empty())
                return Seen::time_to_look;
            continue;
        }
        if (turned(at_owner)) {
            owner_.reset();
            return Seen::time_to_look;
        }
        if (turned(at_watch)) {
            watch_->clear();
            return Seen::time_to_look;
        }
        if (grace_.passed())
            return Seen::grace_over;
        if (deadline_.passed())
            return Seen::deadline;
        if (next.passed())
            return Seen::time_to_look;
    }
}

Seen Contender::look_inside() {
    if (!lock_->still_at_path())
        return Seen::file_replaced;
    sight_ = lock_->look();
    if (sight_.owned)
        return judge_owner(sight_);
    if (!sight_.life_held)
        return Seen::nobody;
    return options_.if_held == IfHeld::replace ? Seen::leftovers_end : Seen::leftovers_wait;
}

Seen Contender::look_outside() {
    sight_ = lock_->look();
    return sight_.owned ? judge_owner(sight_) : Seen::owner_gone;
}

Seen Contender::judge_owner(const sys::LockSight& sight) {
    switch (options_.if_held) {
    case IfHeld::refuse:
    case IfHeld::attach:
        return Seen::owner_let_be;
    case IfHeld::wait:
        return Seen::owner_wait;
    case IfHeld::replace:
        break;
    }
    core::OwnerSight owner{.epoch = sight.epoch,
                           .pid = sight.owner_pid,
                           .is_self = sight.owned_by_self,
                           .record = read_record(location_)};
    if (!purpose_.spare_starters) {
        // Stopping is the user's word: it does not wait for a start to finish, and is no takeover.
        if (owner.record) {
            owner.record->phase = Phase::draining;
            owner.record->takeovers.clear();
            owner.record->epoch = sight.epoch;
        } else {
            owner.record = core::Record{.epoch = sight.epoch, .phase = Phase::draining};
        }
    }
    judgement_ = core::judge_takeover(owner, memory_, sys::boottime_ms(), options_.stall.count());
    return judgement_.seen;
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
                          .message = core::cat("the slot \"", location_.name,
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
    auto sent = process->signal(signal);
    if (!sent)
        return fail_with(
            {.code = Errc::not_permitted,
             .message = core::cat("may not signal ",
                                  owner_for_people(describe(location_, again, read_record(location_))), ": ",
                                  sys::describe_errno(sent.error().sys)),
             .sys = sent.error().sys});
    found_anybody_ = true;
    counted_takeover_ = purpose_.take;
    if (signal == SIGTERM) {
        (void)process->signal(SIGCONT); // a stopped process cannot end by itself
        grace_ = sys::Deadline::in(options_.grace);
        deadline_ = sys::Deadline::never();
    } else {
        grace_ = {};
        deadline_ = sys::Deadline::in(purpose_.patience);
    }
    owner_ = std::move(*process);
    return Seen::life_free;
}

void Contender::leave_door() {
    door_.reset();
}

Seen Contender::cancelled() {
    return fail_with({.code = Errc::cancelled,
                      .message = core::cat("gave up waiting for the slot \"", location_.name, "\"")});
}

Seen Contender::fail_with(Error error) {
    error_ = std::move(error);
    return Seen::deadline;
}

std::unexpected<Error> Contender::reason() {
    SlotInfo info = describe(location_, lock_ ? lock_->look() : sight_, read_record(location_));
    std::string slot = core::cat("the slot \"", location_.name, "\" ");
    switch (last_seen_) {
    case Seen::owner_let_be: {
        SlotInfo seen = describe(location_, sight_, read_record(location_));
        return fail(Errc::held, core::cat(slot, "is held by ", owner_for_people(seen)));
    }
    case Seen::owner_newer:
        return fail(Errc::superseded,
                    core::cat(slot, "was taken over by somebody else first; left alone: ",
                              owner_for_people(describe(location_, sight_, read_record(location_)))));
    case Seen::owner_forbidden: {
        SlotInfo seen = describe(location_, sight_, read_record(location_));
        if (judgement_.too_many)
            return fail(
                Errc::too_many_takeovers,
                core::cat(
                    slot, "was taken over ", max_takeovers, " times within ", takeover_window.count() / 1000,
                    " s; not replacing it again, since somebody keeps starting it with replace. Owner: ",
                    owner_for_people(seen)));
        if (sight_.owned_by_self)
            return fail(Errc::held, core::cat(slot, "is held by this process itself"));
        return fail(Errc::unreachable, core::cat(slot, "is held by ", owner_for_people(seen)));
    }
    default:
        break;
    }
    if (info.state == SlotState::orphaned) {
        bool killed = step_ == Step::left && !leftovers_.empty();
        return fail(killed ? Errc::survivors : Errc::orphaned,
                    core::cat(slot, "has lost its owner, but is still held by what that owner started: ",
                              leftovers_for_people(info.leftovers),
                              killed ? ", which did not end after KILL" : ""));
    }
    if (info.state == SlotState::owned)
        return fail(Errc::timed_out, core::cat(slot, "is still held by ", owner_for_people(info)));
    return fail(Errc::timed_out, core::cat(slot, "did not come free in time; somebody else is taking it"));
}

Seen Contender::take() {
    if (!purpose_.take) {
        // Life is free an instant before its last holder has ended: "stopped" is said after both.
        for (const sys::PidFd& process : leftovers_)
            (void)process.wait_ended(sys::Deadline::in(last_instant));
        lock_->unlock(LockByte::life);
        leave_door();
        acquired_ = Acquired{};
        return Seen::nobody;
    }
    auto stamp = sys::boottime_ms();
    auto before = read_record(location_);
    std::uint64_t last = lock_->read_epoch();
    if (last == 0 && before && before->epoch < (std::uint64_t{1} << 62))
        last = before->epoch;
    // The epoch first: whoever finds our PID in byte 1 must not take us for the epoch of a predecessor that
    // had the same.
    if (auto ok = lock_->write_epoch(last + 1); !ok)
        return fail_with(std::move(ok.error()));
    auto owner = lock_->try_lock(LockByte::owner);
    if (!owner)
        return fail_with(std::move(owner.error()));
    if (!*owner)
        return fail_with(
            {.code = Errc::io,
             .message = core::cat("somebody locks ", lock_->path(), " without following the slot protocol")});
    auto life = lock_->try_lock(LockByte::life);
    if (life && !*life) {
        // No writer holds it, or we would not be here: a waiter holds a read lock for an instant.
        auto waiter = lock_->wait_for(LockByte::life, false);
        if (!waiter)
            return fail_with(std::move(waiter.error()));
        pollfd one{.fd = waiter->fd(), .events = POLLIN, .revents = 0};
        while (::poll(&one, 1, -1) < 0 && errno == EINTR) {
        }
        if (auto accepted = waiter->accept(); !accepted)
            return fail_with(std::move(accepted.error()));
        lock_->note_taken(LockByte::life);
    } else if (!life) {
        return fail_with(std::move(life.error()));
    }

    auto identity = sys::identify_self(sys::random_token());
    if (!identity)
        return fail_with(std::move(identity.error()));
    core::Record record{.name = location_.name,
                        .epoch = last + 1,
                        .progress_at = stamp,
                        .since = stamp,
                        .since_unix_ms = sys::unix_ms(),
                        .identity = std::move(*identity),
                        .version = HOLDFAST_VERSION,
                        .argv = options_.argv,
                        .address = options_.address,
                        .session = options_.session};
    if (purpose_.inherit_record && before) {
        record.phase = before->phase;
        record.status = before->status;
        record.since = before->since;
        record.since_unix_ms = before->since_unix_ms;
        record.argv = before->argv;
        record.session = before->session;
        record.helper = before->helper;
    }
    if (before && before->identity.boot_id == record.identity.boot_id)
        record.takeovers = core::recent_takeovers(*before, stamp);
    if (counted_takeover_)
        record.takeovers.push_back(stamp);
    // The door stays locked until the record is there: who comes next reads about us, not about our
    // predecessor.
    if (auto ok = sys::write_whole(record_path(location_), core::to_json(record)); !ok)
        return fail_with(std::move(ok.error()));
    leave_door();
    acquired_ = Acquired{.ownership = Ownership(std::make_unique<Ownership::State>(
                             location_, std::move(*lock_), std::move(record))),
                         .attached_to = {}};
    lock_.reset();
    return Seen::nobody;
}

} // namespace holdfast::slot

namespace holdfast {

Result<Acquired> acquire(const SlotLocation& location, const AcquireOptions& options) {
    return slot::Contender(location, options, {}).run();
}

Result<bool> stop_slot(const SlotLocation& location, const StopOptions& options) {
    auto now = query(location);
    if (!now)
        return std::unexpected(now.error());
    if (now->state == SlotState::free)
        return false;
    slot::Contender contender(
        location, {.if_held = IfHeld::replace, .grace = options.now ? Millis{0} : options.grace},
        {.take = false, .spare_starters = false, .patience = options.patience, .create = false});
    auto done = contender.run();
    // A helper's files go with it: no file, nobody.
    if (!done && done.error().code != Errc::not_found)
        return std::unexpected(done.error());
    return contender.found_anybody();
}

} // namespace holdfast
