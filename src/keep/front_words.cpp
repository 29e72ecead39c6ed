// What the keeper reports, and what the helper says of itself (sd_notify).
#include "keep/front_parts.hpp"

#include "base/notify_text.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "slot/blocked.hpp"
#include "slot/ownership.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"

namespace holdfast::keep {

using core::StopReason;

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

void Front::hear(const Message& message) {
    if (message.word == "spawned") {
        helper_ = static_cast<pid_t>(message.number(0));
        std::string containment = message.values.size() > 1 ? message.values[1] : "plain";
        // Its first words may have been heard before the keeper's.
        bool ready_now = options_.readiness == Readiness::automatic && !said_ready_ && !speaks_of_start_;
        if (ready_now)
            entry_.ownership().state()->record.phase = Phase::ready; // written with the facts below
        (void)entry_.update([&](base::HelperFacts& facts) {
            facts.containment = containment;
            if (auto identity = sys::identify(*keeper_))
                facts.keeper = *identity;
            if (auto process = sys::PidFd::open(helper_))
                if (auto identity = sys::identify(*process))
                    facts.helper = *identity;
        });
        log(entry_.facts().restarts ? "respawned" : "spawned");
        if (ready_now) {
            if (slot_)
                (void)slot_->ready();
            sys::notify_above(options_.notify_above, "READY=1");
        }
    } else if (message.word == "failed") {
        int error = static_cast<int>(message.number(0));
        result_.error =
            Error{.code = Errc::cannot_start,
                  .message = base::cat("cannot start \"", base::printable(options_.keeper.command.front()),
                                       "\": ", sys::describe_errno(error)),
                  .sys = error};
    } else if (message.word == "refused") {
        std::string why;
        for (const std::string& word : message.values)
            why += base::cat(why.empty() ? "" : " ", word);
        result_.error = Error{.code = Errc::unsupported, .message = why};
    } else if (message.word == "exited") {
        result_.status = static_cast<int>(message.number(0));
        log(message.number(1) ? "killed" : "exited",
            result_.reason ? std::string(core::name_of(*result_.reason)) : "", result_.status);
        helper_ = 0;
    } else if (message.word == "restarting") {
        (void)entry_.update([&](base::HelperFacts& facts) {
            facts.restarts = static_cast<std::uint32_t>(message.number(0));
        });
        said_ready_ = speaks_of_start_ = false;
        set_phase(Phase::starting);
    } else if (message.word == "gave-up") {
        result_.gave_up = true;
        log("gave-up");
    } else if (message.word == "stopping") {
        result_.reason = core::stop_reason_named(message.values.empty() ? "" : message.values[0]);
        if (result_.reason && *result_.reason != StopReason::command_ended) {
            set_phase(Phase::draining);
            sys::notify_above(options_.notify_above, "STOPPING=1");
            log("stopping", std::string(core::name_of(*result_.reason)));
        }
    } else if (message.word == "survivor") {
        auto pid = static_cast<pid_t>(message.number(0));
        result_.survivors.push_back(slot::leftovers_for_people(
            {{.pid = pid, .command = base::printable(sys::command_line_for_people(pid))}}));
    } else if (message.word == "done") {
        keeper_done_ = true;
    }
}

void Front::hear_control() {
    // A few at a time: a helper that is restarted without a pause must not keep us from hearing anything
    // else.
    constexpr int at_once = 16;
    Message message;
    for (int heard = 0; control_ && heard < at_once; ++heard) {
        switch (control_->receive(message)) {
        case Control::State::nothing_yet:
            return;
        case Control::State::closed:
            keeper_is_gone();
            return;
        case Control::State::message:
            hear(message);
            break;
        }
    }
}

void Front::hear_notifications() {
    while (auto text = notify_->next()) {
        if (options_.keeper.idle.count() && control_)
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
