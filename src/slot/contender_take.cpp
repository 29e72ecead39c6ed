// The last steps of a contender inside the door: epoch, owner byte, life byte, record.
#include "base/text.hpp"
#include "records/paths.hpp"
#include "records/record.hpp"
#include "slot/contender.hpp"
#include "slot/ownership.hpp"
#include "slot/sight.hpp"
#include "sys/proc.hpp"
#include "sys/random.hpp"
#include "sys/whole_file.hpp"

namespace holdfast::slot {

using core::Seen;
using sys::LockByte;

namespace {

constexpr Millis last_instant{1000};

// The record of the owner before us. Inside the door nobody writes it, so one look is enough. It is taken
// apart only when something in it is wanted: that takes longer than the locks do. What stands in a string of
// the record cannot look like an empty list of takeovers, since its quotation marks are escaped.
std::optional<base::Record> record_before(const SlotLocation& location, bool wanted) {
    auto text = sys::read_at_once(records::record_path(location), records::max_record_bytes);
    if (!text || (!wanted && text->find("\"takeovers\":[]") != std::string::npos))
        return std::nullopt;
    return records::record_from_json(*text);
}

} // namespace

Seen Contender::take() {
    if (!purpose_.take) {
        // Life is free an instant before its last holder has ended: "stopped" is said after both.
        if (leftovers_)
            (void)leftovers_->ender().wait_for_all(sys::Deadline::in(last_instant));
        lock_->unlock(LockByte::life);
        leave_door();
        acquired_ = Acquired{};
        return Seen::nobody;
    }
    auto stamp = sys::boottime_ms();
    std::uint64_t last = sight_.epoch; // seen inside the door, where it does not change
    auto before = record_before(location_, last == 0 || purpose_.inherit_record);
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
             .message = base::cat("somebody locks ", lock_->path(), " without following the slot protocol")});
    auto life = lock_->try_lock(LockByte::life);
    if (life && !*life) {
        if (!outwait_readers())
            return error_ ? Seen::deadline : cancelled();
    } else if (!life) {
        return fail_with(std::move(life.error()));
    }

    if (!identify_self())
        return Seen::deadline;
    base::Record record{.written = static_cast<std::uint64_t>(sys::boottime_ns()),
                        .name = location_.name,
                        .epoch = last + 1,
                        .progress_at = stamp,
                        .since = stamp,
                        .since_unix_ms = sys::unix_ms(),
                        .identity = std::move(*self_),
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
    if (purpose_.helper)
        record.helper = std::move(purpose_.helper);
    if (before && before->identity.boot_id == record.identity.boot_id)
        record.takeovers = core::recent_takeovers(*before, stamp);
    if (counted_takeover_)
        record.takeovers.push_back(stamp);
    // The door stays locked until the record is there: who comes next reads about us, not about our
    // predecessor.
    if (auto ok = sys::rewrite_whole(records::record_path(location_), records::to_json(record)); !ok)
        return fail_with(std::move(ok.error()));
    leave_door();
    acquired_ = Acquired{.ownership = Ownership(std::make_unique<Ownership::State>(
                             location_, std::move(*lock_), std::move(record))),
                         .attached_to = {}};
    lock_.reset();
    return Seen::nobody;
}

bool Contender::identify_self() {
    if (self_)
        return true;
    auto identity = sys::identify_self(sys::random_token());
    if (!identity) {
        (void)fail_with(std::move(identity.error()));
        return false;
    }
    self_ = std::move(*identity);
    return true;
}

} // namespace holdfast::slot
