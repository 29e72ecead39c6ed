// The words between the keeper and its front, or the library; and the signals that the keeper gets.
#include "keep/keeper_parts.hpp"

#include "base/text.hpp"
#include "core/front_signals.hpp"

#include <csignal>

namespace holdfast::keep {

using core::StopReason;

void Keeper::note_end(const Tree::Ended& ended) {
    if (ended.pid != helper_)
        return;
    helper_ = 0;
    last_exit_ = ended.exit;
    tell(base::cat("exited ", ended.exit.status, ' ', ended.exit.signal, ' ', ended.exit.cpu_ms, ' ',
                   ended.exit.max_rss_kb),
         {.unix_ms = 0,
          .type = ended.exit.signal ? "killed" : "exited",
          .id = {},
          .label = {},
          .pid = ended.pid,
          .reason = ending_.reason() ? std::string(core::name_of(*ending_.reason())) : "",
          .status = ended.exit.status});
}

// While a tree is being killed, a word to the front would wake it to write records, on the processors that
// the dying need. It hears all of it, in order, when nothing is left, or when that takes its time.
void Keeper::tell(std::string message, registry::Event event) {
    to_be_told_.push_back({.message = std::move(message), .event = std::move(event)});
    if (!ending_.killing())
        tell_what_waits();
}

void Keeper::tell_what_waits() {
    for (News& news : to_be_told_) {
        if (control_.send(news.message) || options_.events.empty() || news.event.type.empty())
            continue;
        // Nobody hears it any more, so nobody else would log it.
        news.event.id = options_.id;
        news.event.label = options_.label;
        registry::EventLog(options_.events).append(std::move(news.event));
    }
    to_be_told_.clear();
}

void Keeper::hear_control() {
    Message message;
    for (;;) {
        switch (control_.receive(message)) {
        case Control::State::nothing_yet:
            return;
        case Control::State::closed:
            if (control_open_) {
                control_open_ = false;
                begin_stop(StopReason::front_gone);
            }
            return;
        case Control::State::message:
            if (message.word == "stop") {
                begin_stop(core::stop_reason_named(message.values.empty() ? "" : message.values[0])
                               .value_or(StopReason::asked));
            } else if (message.word == "moved") {
                moved_at_ = sys::boottime_ms();
            } else if (message.word == "signal" && helper_ > 0) {
                pass_on(static_cast<int>(message.number(0)), message.value(1));
            }
        }
    }
}

void Keeper::pass_on(int signal, std::optional<std::uint64_t> value) {
    // The leader of a session of its own: nobody in it could continue the command, so the kernel lets nothing
    // but STOP stop it. (The init of a PID namespace sees to this itself.)
    if (options_.terminal_fd >= 0 && options_.containment != Containment::pid_namespace &&
        core::use_of(signal) == core::SignalUse::pause)
        signal = SIGSTOP;
    // Our own child that we have not reaped: its number cannot have been given away.
    if (auto process = sys::PidFd::open(helper_))
        (void)(value ? process->queue(signal, *value) : process->signal(signal));
}

void Keeper::hear_signals() {
    while (auto arrived = signals_.next())
        if (arrived->signal != SIGCHLD)
            begin_stop(arrived->signal == sys::stop_now_signal() ? StopReason::asked_now : StopReason::asked);
    reap();
}

void Keeper::reap() {
    tree_.reap([this](const Tree::Ended& ended) { note_end(ended); });
}

} // namespace holdfast::keep
