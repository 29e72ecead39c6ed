// The helper's own words (sd_notify), and the phase that they put into the records.
#include "keep/front_parts.hpp"

#include "base/notify_text.hpp"
#include "slot/ownership.hpp"

namespace holdfast::keep {

void Front::set_phase(Phase phase) {
    on_ownerships([phase](Ownership& ownership) {
        switch (phase) {
        case Phase::starting:
            return ownership.starting();
        case Phase::ready:
            return ownership.ready();
        case Phase::draining:
            return ownership.draining();
        }
        return Result<void>{};
    });
}

void Front::hear_notifications() {
    while (auto text = notify_->next()) {
        if (options_.keep.idle.count() && control_)
            control_->send("moved");
        base::NotifyWords words = base::read_notify(*text);
        if (words.address)
            on_ownerships([&](Ownership& o) { return o.set_address(*words.address); });
        // Speaking of a start that is not over takes the benefit of the doubt back.
        if ((words.progress_done || words.extend_usec || words.status) && !said_ready_ && !words.ready) {
            speaks_of_start_ = true;
            set_phase(Phase::starting);
        }
        if (words.status)
            on_ownerships([&](Ownership& o) { return o.set_status(*words.status); });
        if (words.progress_done)
            on_ownerships(
                [&](Ownership& o) { return o.report_progress(*words.progress_done, words.progress_total); });
        if (words.extend_usec)
            on_ownerships([&](Ownership& o) {
                return o.extend_patience(Millis{static_cast<Millis::rep>(*words.extend_usec / 1000)});
            });
        if (words.ready && !said_ready_) {
            said_ready_ = true;
            set_phase(Phase::ready);
            log("ready");
        }
        if (words.stopping)
            set_phase(Phase::draining);
        sys::notify_above(options_.notify_above, *text);
    }
}

} // namespace holdfast::keep
