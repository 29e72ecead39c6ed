// The front and its keeper: the words in both directions, and the reaction to a keeper that is stopped or
// dead.
#include "keep/front_parts.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "slot/blocked.hpp"
#include "slot/ownership.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"

#include <csignal>

namespace holdfast::keep {

using core::StopReason;

namespace {

// Beyond the plan's own time and the patience with which a keeper kills before it names survivors.
constexpr std::int64_t keeper_margin_ms = ending::default_patience.count() + 5000;
// More words than these a keeper that does not read is not kept; the kernel has such a bound for queued
// signals, too (RLIMIT_SIGPENDING).
constexpr std::size_t most_unsent = 65'536;

} // namespace

void Front::tell_keeper(std::string word) {
    if (control_ && unsent_.size() < most_unsent)
        unsent_.push_back(std::move(word));
    tell_keeper();
}

void Front::tell_keeper() {
    while (control_ && !unsent_.empty()) {
        const Control::Sent sent = control_->offer(unsent_.front());
        if (sent == Control::Sent::full)
            return;
        unsent_.pop_front();
    }
}

void Front::tell_stop(StopReason reason) {
    stop_told_ = true;
    if (keeper_dead_) {
        ending_.begin(reason);
        return;
    }
    unsent_.push_front(base::cat("stop ", core::name_of(reason))); // whatever else waits
    tell_keeper();
    sys::continue_stopped(*keeper_);
    if (!keeper_due_) {
        keeper_due_ = sys::boottime_ms() + keeper_margin_ms;
        for (const core::StopStage& stage : options_.keep.plan.stages)
            *keeper_due_ += stage.wait.count();
    }
}

// A keeper that was told and is stopped again will never end anything: without it the tree is ours.
void Front::look_after_keeper() {
    if (keeper_dead_ || !keeper_due_ || sys::boottime_ms() < *keeper_due_)
        return;
    if (sys::is_stopped(keeper_->pid())) // our child, not reaped: its number is its own
        (void)keeper_->signal(SIGKILL);
    keeper_due_ = sys::boottime_ms() + keeper_margin_ms;
}

void Front::keeper_is_gone() {
    control_.reset();
    keeper_dead_ = true;
    (void)keeper_->wait_ended(sys::Deadline::in(std::chrono::milliseconds(1000)));
    if (!keeper_done_ && result_.survivors.empty() && !result_.error) {
        // Killed. Its children came home to us: we are a subreaper too.
        result_.reason = StopReason::keeper_gone;
        log("stopping", "keeper_gone");
        set_phase(Phase::draining);
        ending_.begin(StopReason::keeper_gone);
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
                  .message = base::cat("cannot start \"", base::printable(options_.keep.command.front()),
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

} // namespace holdfast::keep
