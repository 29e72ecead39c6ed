#include "slot/stopping.hpp"

#include "records/paths.hpp"
#include "slot/contender.hpp"
#include "slot/door.hpp"
#include "slot/leftovers.hpp"
#include "sys/clock.hpp"
#include "sys/lock_file.hpp"
#include "sys/pidfd.hpp"
#include "sys/signals.hpp"

namespace holdfast::slot {

namespace {

// True when the owner of that epoch was asked.
bool ask(const SlotLocation& location, std::uint64_t epoch, int signal) {
    auto lock = sys::LockFile::open(records::lock_path(location), sys::Deadline::at(0), false);
    if (!lock)
        return false;
    auto entered = lock->try_lock(sys::LockByte::door);
    if (!entered || !*entered)
        return false;
    Door inside(*lock);
    sys::LockSight sight = lock->look();
    if (sight.epoch != epoch || sight.owned_by_self || !lock->still_at_path())
        return false;
    if (!sight.owned) {
        if (sight.life_held)
            Leftovers(location, inside,
                      leftovers_plan(StopOptions{}.grace, StopOptions{}.patience, Purpose{}.unseen), nullptr)
                .ender()
                .begin(core::StopReason::asked);
        return false; // what they fork meanwhile has not heard it
    }
    // Pidfd first, then the question whether that very process still owns the epoch that is meant.
    auto process = sys::PidFd::open(sight.owner_pid);
    sys::LockSight again = lock->look();
    if (!process || !again.owned || again.owner_pid != sight.owner_pid || again.epoch != epoch)
        return false;
    auto sent = signal == sys::stop_now_signal() ? sys::tell_stop_now(*process) : process->signal(signal);
    (void)process->signal(SIGCONT); // a stopped process cannot end by itself
    return sent && *sent;
}

Result<Stopped> stop(const SlotLocation& location, const StopOptions& how, std::uint64_t epoch,
                     std::optional<std::int64_t> asked_at) {
    Contender contender(location, {.if_held = IfHeld::replace, .grace = how.now ? Millis{0} : how.grace},
                        {.take = false,
                         .spare_starters = false,
                         .patience = how.patience,
                         .create = false,
                         .epoch = epoch,
                         .asked_at = asked_at});
    auto done = contender.run();
    Stopped out{.anybody = contender.found_anybody() || asked_at};
    // A helper's files go with it: no file, nobody.
    if (!done && done.error().code != Errc::not_found)
        return std::unexpected(done.error());
    if (done && done->attached_to.state == SlotState::owned)
        out.successor = std::move(done->attached_to);
    return out;
}

} // namespace

Stopping::Stopping(SlotLocation location, StopOptions how, int ask_signal)
    : location_(std::move(location))
    , how_(how) {
    if (!how_.epoch)
        if (auto now = query(location_); now && now->state != SlotState::free)
            how_.epoch = now->epoch;
    if (how_.epoch && ask(location_, *how_.epoch, ask_signal))
        asked_at_ = sys::boottime_ms();
}

Result<Stopped> Stopping::finish() {
    if (!how_.epoch)
        return stop_slot(location_, how_); // nobody, or it could not be looked at: found out again, and said
    return stop(location_, how_, *how_.epoch, asked_at_);
}

} // namespace holdfast::slot

namespace holdfast {

Result<Stopped> stop_slot(const SlotLocation& location, const StopOptions& options) {
    auto now = query(location);
    if (!now)
        return std::unexpected(now.error());
    std::uint64_t epoch = options.epoch.value_or(now->epoch);
    Stopped gone;
    if (now->state == SlotState::owned && now->epoch != epoch)
        gone.successor = std::move(*now);
    else if (now->state != SlotState::free && now->epoch == epoch)
        return slot::stop(location, options, epoch, std::nullopt);
    return gone;
}

} // namespace holdfast
