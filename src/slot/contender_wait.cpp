// How a contender waits: for its turn among our own threads, for a lock, for news of the owner.
#include "base/text.hpp"
#include "records/paths.hpp"
#include "slot/contender.hpp"
#include "sys/errors.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"

#include <poll.h>

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::slot {

using core::Seen;
using core::SlotStep;
using sys::LockByte;

namespace {

constexpr Millis own_turn{50}; // between looks at what another thread of ours has come to
constexpr int grant_on_its_way_ms = 20;
constexpr Millis look_for_stopped{1000}; // the kernel does not tell who is not their parent
constexpr Millis look_again{250};        // only where the machine has no inotify instance left for us

} // namespace

Seen Contender::reopen() {
    waiter_.reset();
    leave_door();
    lock_.reset();
    step_ = SlotStep::door;
    // Within one process the threads queue up before the kernel is asked.
    for (sys::Deadline turn = sys::Deadline::at(0);; turn = deadline_.earlier(sys::Deadline::in(own_turn))) {
        auto lock = sys::LockFile::open(records::lock_path(location_), turn, purpose_.create);
        if (lock) {
            lock_ = std::move(*lock);
            return start_waiting(LockByte::door, false);
        }
        if (lock.error().code != Errc::held)
            return fail_with(std::move(lock.error()));
        auto sight = sys::LockFile::look(records::lock_path(location_));
        if (!sight)
            return fail_with(std::move(sight.error()));
        sight_ = *sight;
        // Only an owner makes it held. A thread that is still on its way may yet find somebody else there, or
        // fail.
        if (sight_.owned && options_.if_held == IfHeld::replace)
            return fail_with(
                std::move(lock.error())); // owned by us, or another thread of ours is after it already
        if (sight_.owned && judge_owner(sight_) == Seen::owner_let_be) {
            step_ = SlotStep::inside;
            return Seen::owner_let_be;
        }
        pollfd cancel{.fd = options_.cancel_fd, .events = POLLIN, .revents = 0};
        if (::poll(&cancel, 1, 0) > 0 && cancel_is_meant())
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
    done_waiting_.clear(); // there is time now, and a long wait loses many races
    if (purpose_.take && !identify_self())
        return Seen::deadline;
    if (!watch_owner())
        return Seen::time_to_look;
    if (wants_every_word() && !watch_) {
        (void)watch_directory();
        return Seen::time_to_look; // what happened before the watch stood would otherwise be missed
    }
    return wait_for_news();
}

// Patience needs to see each word of the owner. Who waits for leftovers needs to see a faster starter begin:
// to leave it alone, or to wait for it. Otherwise a pidfd or the lock tells, and the watch is spared: a
// process that ends soon would pay for it at its end (sys/file_watch.hpp).
bool Contender::wants_every_word() const {
    return step_ == SlotStep::patient ||
           (step_ == SlotStep::waiting && (options_.if_held != IfHeld::wait || !owner_));
}

bool Contender::watch_directory() {
    if (auto made = sys::FileWatch::on_changes_in(location_.directory))
        watch_ = std::move(*made);
    return watch_.has_value();
}

// The end of the owner that was seen is news to who waits for it: life may be held on by what it leaves
// behind. False when that owner is not there any more. One that cannot be held (in another PID namespace, no
// free descriptor) is heard of by its lock alone.
bool Contender::watch_owner() {
    if ((step_ != SlotStep::waiting && step_ != SlotStep::patient) || owner_ || !sight_.owned ||
        sight_.owner_pid <= 0)
        return true;
    auto process = sys::PidFd::open(sight_.owner_pid);
    // Pidfd first, then the question whether that very process is the owner.
    const sys::LockSight again = lock_->look();
    if (!again.owned || again.owner_pid != sight_.owner_pid || again.epoch != sight_.epoch)
        return false;
    if (process)
        owner_ = std::move(*process);
    look_after_owner();
    return true;
}

// An owner that is stopped does not hear that its host has died, and would hold the slot for ever.
void Contender::look_after_owner() {
    if (!purpose_.look_after_owner || !owner_ || step_ != SlotStep::waiting)
        return;
    OwnersHost host = purpose_.look_after_owner(sight_.epoch);
    host_ = std::move(host.alive);
    host_gone_ = host.gone;
}

Seen Contender::see_to_leftovers() {
    // Life is free: the kernel's grant is on its way, some microseconds behind the owner's end. To watch the
    // directory for that instant would cost the successor more than the instant.
    if (waiter_ && !sight_.life_held) {
        pollfd grant{.fd = waiter_->fd(), .events = POLLIN, .revents = 0};
        if (::poll(&grant, 1, grant_on_its_way_ms) > 0)
            return accept_grant();
    }
    if (wants_every_word() && !watch_ && watch_directory())
        return Seen::time_to_look;
    // Once for each owner that is found dead, and again when a guard has ended: to find them costs a walk
    // through all descriptors.
    if (purpose_.end_unguarded && sight_.life_held && seen_to_ != sight_.epoch) {
        seen_to_ = sight_.epoch;
        if (auto seen = end_or_name_unguarded())
            return *seen;
    }
    return waiter_ ? wait_for_news() : start_waiting(LockByte::life, true);
}

// Nothing when there is somebody to wait for. Who has no guard any more goes by what we do, or not at all.
std::optional<Seen> Contender::end_or_name_unguarded() {
    Tended tended = purpose_.end_unguarded();
    guards_ = std::move(tended.guards);
    lost_ = std::move(tended.lost);
    sight_ = lock_->look();
    if (!tended.unguarded || sight_.owned || !sight_.life_held)
        return std::nullopt;
    // Those that are seen hold life by a descriptor of this tree. They are ended inside the door.
    const std::vector<pid_t> holders = sys::find_life_holders(records::lock_path(location_));
    if (ends_ != sight_.epoch &&
        std::ranges::any_of(holders, [](pid_t pid) { return !sys::is_doomed(pid); })) {
        ends_ = sight_.epoch;
        return Seen::life_free; // the way to the door
    }
    std::string blocked = blocked_for_people(location_, lost_);
    // Between our question and these lines the last of them may have ended.
    sight_ = lock_->look();
    if (sight_.owned || !sight_.life_held)
        return std::nullopt;
    if (options_.if_held != IfHeld::wait && !options_.wait)
        return fail_with({.code = Errc::survivors, .message = std::move(blocked)});
    if (purpose_.tell_blocked)
        purpose_.tell_blocked(blocked);
    return std::nullopt;
}

Seen Contender::accept_grant() {
    auto accepted = waiter_->accept();
    if (!accepted)
        return fail_with(std::move(accepted.error()));
    done_waiting_.push_back(std::move(*waiter_));
    waiter_.reset();
    if (waiting_for_ == LockByte::door) {
        door_.emplace(*lock_);
        return Seen::door_granted;
    }
    if (!waiting_shared_)
        lock_->note_taken(LockByte::life);
    return Seen::life_free;
}

Seen Contender::wait_for_news() {
    if (step_ == SlotStep::waiting && options_.before_long_wait)
        std::exchange(options_.before_long_wait, nullptr)();
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
        int at_host = add(host_ && step_ == SlotStep::waiting ? host_->fd() : -1);
        // The watch outlives the wait it was made for, but its news is wanted in that kind of wait only.
        int at_watch = add(watch_ && wants_every_word() ? watch_->fd() : -1);
        // Those who were sent KILL: the ender says whose end is news, and when to look again.
        ending::Ender* killing = step_ == SlotStep::leftovers_killed ? &leftovers_->ender() : nullptr;
        std::vector<int> at_guards;
        for (const sys::PidFd& guard : guards_)
            at_guards.push_back(step_ == SlotStep::waiting ? add(guard.fd()) : -1);
        int at_leftover = add(killing ? killing->fd() : -1);

        sys::Deadline next = deadline_.earlier(grace_);
        if (step_ == SlotStep::patient && judgement_.look_again_at)
            next = next.earlier(sys::Deadline::at(*judgement_.look_again_at));
        if (wants_every_word() && !watch_)
            next = next.earlier(sys::Deadline::in(look_again));
        if (killing)
            next = killing->over() ? sys::Deadline::at(0) : next.earlier(killing->next());
        const bool may_be_stopped =
            step_ == SlotStep::waiting && ((host_gone_ && owner_) || !guards_.empty());
        if (may_be_stopped)
            next = next.earlier(sys::Deadline::in(look_for_stopped));

        int n = ::poll(fds.data(), fds.size(), next.poll_timeout());
        if (n < 0 && errno != EINTR)
            return fail_with(sys::fail_sys("poll").error());
        auto turned = [&](int at) {
            return n > 0 && at >= 0 && fds[static_cast<std::size_t>(at)].revents != 0;
        };

        if (turned(at_waiter))
            return accept_grant();
        if (turned(at_cancel) && cancel_is_meant())
            return cancelled();
        if (turned(at_leftover)) {
            if (!killing->anybody())
                return Seen::time_to_look;
            continue;
        }
        if (std::ranges::any_of(at_guards, turned)) {
            guards_.clear();
            seen_to_.reset();
            return Seen::time_to_look;
        }
        if (turned(at_owner)) {
            owner_before_ = std::exchange(owner_, std::nullopt);
            return Seen::time_to_look;
        }
        if (turned(at_host)) {
            host_.reset();
            look_after_owner();
            continue;
        }
        if (turned(at_watch)) {
            watch_->clear();
            return Seen::time_to_look;
        }
        if (grace_.passed())
            return Seen::grace_over;
        if (deadline_.passed() || (killing && killing->over()))
            return Seen::deadline;
        if (n == 0 && may_be_stopped) {
            for (const sys::PidFd& guard : guards_)
                sys::continue_stopped(guard);
            if (host_gone_)
                look_after_owner();
        }
        if (next.passed())
            return Seen::time_to_look;
    }
}

} // namespace holdfast::slot
