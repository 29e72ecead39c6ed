#include "core/takeover.hpp"

#include <limits>

namespace holdfast::core {

std::vector<std::int64_t> recent_takeovers(const base::Record& record, std::int64_t now) {
    std::vector<std::int64_t> out;
    for (std::int64_t at : record.takeovers)
        if (at <= now &&
            at > now - takeover_window.count()) // no subtraction of a number we did not make: it may overflow
            out.push_back(at);
    return out;
}

TakeoverJudgement judge_takeover(const OwnerSight& owner, TakeoverMemory& memory, std::int64_t now,
                                 std::int64_t stall_ms) {
    if (!memory.meant_epoch) {
        memory.meant_epoch = owner.epoch;
        memory.still_since = now;
    }
    if (owner.epoch != *memory.meant_epoch)
        return {.seen = Seen::owner_newer};
    if (owner.pid == 0 || owner.is_self)
        return {.seen = Seen::owner_forbidden};

    bool current = owner.record && owner.record->epoch == owner.epoch;
    // Only the owner's own record counts: an older or foreign one must not forbid anything.
    if (current && recent_takeovers(*owner.record, now).size() >= static_cast<std::size_t>(max_takeovers))
        return {.seen = Seen::owner_forbidden, .too_many = true};
    if (current && owner.record->phase != Phase::starting)
        return {.seen = Seen::owner_may_be_asked};

    // Starting, or nothing readable yet from this owner: patience, as long as something moves.
    std::uint64_t done = current ? owner.record->progress_done : 0;
    if (!memory.last_done) {
        memory.last_done = done;
        // The owner's own stamp tells how long it stood still before we came, if it is a sane one.
        if (current && owner.record->progress_at > 0 && owner.record->progress_at <= now)
            memory.still_since = owner.record->progress_at;
    } else if (*memory.last_done != done) {
        memory.last_done = done;
        memory.still_since = now;
    }
    std::int64_t patience_ends = std::numeric_limits<std::int64_t>::max();
    if (stall_ms < patience_ends - memory.still_since)
        patience_ends = memory.still_since + stall_ms;
    if (current && owner.record->patience_until > patience_ends &&
        owner.record->patience_until <= now + max_patience_request.count())
        patience_ends = owner.record->patience_until;
    if (now >= patience_ends)
        return {.seen = Seen::owner_stalled};
    return {.seen = Seen::owner_patient, .look_again_at = patience_ends};
}

} // namespace holdfast::core
