#include "slot/ownership.hpp"

#include "base/text.hpp"
#include "records/paths.hpp"
#include "records/record.hpp"
#include "sys/clock.hpp"
#include "sys/whole_file.hpp"

#include <poll.h>

#include <algorithm>

namespace holdfast {

namespace {
// Whoever is inside stays for microseconds, unless it was stopped there. As long as a contender waits for the
// door to signal an owner: one that is slow between the question and the signal still finds us owning it.
constexpr int door_patience_ms = 5000;
} // namespace

Ownership::State::State(SlotLocation where, sys::LockFile file, base::Record first)
    : location(std::move(where))
    , lock(std::move(file))
    , record(std::move(first)) {}

Ownership::State::~State() {
    // Let go inside the door: a contender that signals does so inside it too, so none can be about to signal
    // us for a slot that we no longer own. Not when others share our open file: killed in here, we would
    // leave them the door, locked.
    bool through_door = lock.fd() >= 0 && !life_given;
    auto got = through_door ? lock.try_lock(sys::LockByte::door) : true;
    if (got && !*got) {
        if (auto waiter = lock.wait_for(sys::LockByte::door, false)) {
            pollfd one{.fd = waiter->fd(), .events = POLLIN, .revents = 0};
            (void)(::poll(&one, 1, door_patience_ms) > 0 && waiter->accept().has_value());
        }
    }
    // Nothing is unlocked here: closing the file drops the owner byte first and then life and door in one.
    // Were the door open before life is free, a contender inside it would take us for a leftover of
    // ourselves. And it is closed before the watch is, since that takes the kernel milliseconds.
    sys::LockFile let_go(std::move(lock));
}

std::unexpected<Error> Ownership::State::lost() const {
    return fail(Errc::lost,
                base::cat("the lock file ", lock.path(),
                          " was removed while this process owned it; it leaves, since another may own "
                          "the slot now"));
}

Result<void> Ownership::State::write_record() {
    // In the child of a fork the descriptor is -1: the record is the parent's.
    if (lock.fd() < 0)
        return fail(Errc::closed, base::cat("this process does not own the slot \"", location.name,
                                            "\": it is a fork of the owner"));
    // Under the same name there may be another owner by now, with a record of its own.
    if (!lock.still_at_path())
        return lost();
    record.written = static_cast<std::uint64_t>(sys::boottime_ns());
    return sys::rewrite_whole(records::record_path(location), records::to_json(record));
}

Ownership::Ownership(std::unique_ptr<State> state) noexcept
    : state_(std::move(state)) {}
Ownership::Ownership(Ownership&&) noexcept = default;
Ownership& Ownership::operator=(Ownership&&) noexcept = default;
Ownership::~Ownership() = default;

namespace {
std::unexpected<Error> released() {
    return fail(Errc::closed, "this ownership was already released");
}
} // namespace

std::uint64_t Ownership::epoch() const noexcept {
    return state_ ? state_->record.epoch : 0;
}

const SlotLocation& Ownership::location() const noexcept {
    static const auto* const none = new SlotLocation; // never destroyed: may be asked at the very end
    return state_ ? state_->location : *none;
}

Result<void> Ownership::report_progress(std::uint64_t done, std::uint64_t total, std::string status) {
    if (!state_)
        return released();
    base::Record& record = state_->record;
    if (record.progress_done != done)
        record.progress_at = sys::boottime_ms();
    record.progress_done = done;
    record.progress_total = total;
    if (!status.empty())
        record.status = std::move(status);
    return state_->write_record();
}

Result<void> Ownership::extend_patience(Millis more) {
    if (!state_)
        return released();
    // More than contenders would believe would buy nothing at all.
    more = std::clamp(more, Millis{0}, max_patience_request);
    state_->record.patience_until = sys::boottime_ms() + more.count();
    return state_->write_record();
}

Result<void> Ownership::set_status(std::string status) {
    if (!state_)
        return released();
    state_->record.status = std::move(status);
    return state_->write_record();
}

Result<void> Ownership::set_address(std::string address) {
    if (!state_)
        return released();
    state_->record.address = std::move(address);
    return state_->write_record();
}

Result<void> Ownership::starting() {
    if (!state_)
        return released();
    state_->record.phase = Phase::starting;
    state_->record.progress_at = sys::boottime_ms();
    return state_->write_record();
}

Result<void> Ownership::ready() {
    if (!state_)
        return released();
    state_->record.phase = Phase::ready;
    state_->record.patience_until = 0;
    return state_->write_record();
}

Result<void> Ownership::draining() {
    if (!state_)
        return released();
    state_->record.phase = Phase::draining;
    return state_->write_record();
}

int Ownership::life_fd() const noexcept {
    if (!state_)
        return -1;
    state_->life_given = true;
    return state_->lock.fd();
}

int Ownership::watch_fd() {
    if (!state_ || state_->lock.fd() < 0)
        return -1;
    if (!state_->watch)
        if (auto made = sys::FileWatch::on_file(state_->lock.path()))
            state_->watch = std::move(*made);
    return state_->watch ? state_->watch->fd() : -1;
}

Result<void> Ownership::still_mine() {
    if (!state_)
        return released();
    if (state_->watch)
        state_->watch->clear();
    if (state_->lock.still_at_path())
        return {};
    return state_->lost();
}

void Ownership::release() noexcept {
    state_.reset();
}

} // namespace holdfast
