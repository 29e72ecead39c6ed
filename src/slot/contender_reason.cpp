// Why a contender left without the slot, in words a person can act on.
#include "base/text.hpp"
#include "records/record_file.hpp"
#include "slot/contender.hpp"
#include "slot/leftovers.hpp"
#include "slot/sight.hpp"

namespace holdfast::slot {

using core::Seen;
using core::SlotStep;

std::unexpected<Error> Contender::reason() {
    SlotInfo info = describe(location_, lock_ ? lock_->look() : sight_, records::read_record(location_));
    std::string slot = base::cat("the slot \"", location_.name, "\" ");
    switch (last_seen_) {
    case Seen::owner_let_be: {
        SlotInfo seen = describe(location_, sight_, records::read_record(location_));
        return fail(Errc::held, base::cat(slot, "is held by ", owner_for_people(seen)));
    }
    case Seen::owner_newer:
        return fail(Errc::superseded, base::cat(slot, "was taken over by somebody else first; left alone: ",
                                                owner_for_people(describe(location_, sight_,
                                                                          records::read_record(location_)))));
    case Seen::owner_forbidden: {
        SlotInfo seen = describe(location_, sight_, records::read_record(location_));
        if (judgement_.too_many)
            return fail(
                Errc::too_many_takeovers,
                base::cat(
                    slot, "was taken over ", max_takeovers, " times within ", takeover_window.count() / 1000,
                    " s; not replacing it again, since somebody keeps starting it with replace. Owner: ",
                    owner_for_people(seen)));
        if (sight_.owned_by_self)
            return fail(Errc::held, base::cat(slot, "is held by this process itself"));
        return fail(Errc::unreachable, base::cat(slot, "is held by ", owner_for_people(seen)));
    }
    default:
        break;
    }
    if (info.state == SlotState::orphaned) {
        bool killed = step_ == SlotStep::left && leftovers_ && leftovers_->ender().holds_some();
        return fail(
            killed ? Errc::survivors : Errc::orphaned,
            base::cat(blocked_for_people(location_, lost_), killed ? ", which did not end after KILL" : ""));
    }
    if (info.state == SlotState::owned)
        return fail(Errc::timed_out, base::cat(slot, "is still held by ", owner_for_people(info)));
    return fail(Errc::timed_out, base::cat(slot, "did not come free in time; somebody else is taking it"));
}

} // namespace holdfast::slot
