// The process of a generation: started, heard of, drained, ended, and taken care of when its keeper is
// killed.
#include "supervise/generations.hpp"

#include "base/text.hpp"
#include "core/stop_plan.hpp"
#include "slot/sweep.hpp"
#include "sys/errors.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace holdfast::supervise {

using core::EventKind;

namespace {

// Beyond the plan's own time: a keeper kills for 10 s before it names survivors.
constexpr base::Millis keeper_margin{15'000};
// A process that drains has this long from each thing that it takes or says.
constexpr base::Millis drain_patience{2'000};

// Errors of a start that trying again cannot help.
bool is_permanent(int error) {
    return error == ENOENT || error == EACCES || error == ENOTDIR || error == ENOEXEC || error == EISDIR ||
           error == ELOOP || error == ENAMETOOLONG || error == E2BIG;
}

} // namespace

void Generations::start_process(Generation generation) {
    ProcessSpec spec;
    {
        const Lock lock(*this);
        if (machine_.generation != generation ||
            core::facts_of(machine_.phase).process != core::Process::asked)
            return;
        spec = spec_;
    }
    std::string survivors_left = survivors();
    // Without the lock: starting takes the better part of a millisecond, and nobody else starts anything.
    auto kept =
        survivors_left.empty()
            ? KeptProcess::start(spec, engine_->place, generation)
            : fail(Errc::survivors, base::cat("left over from an earlier generation: ", survivors_left));
    Turn turn(*this);
    ++starts_;
    spawned_ = draining_ = false;
    drain_due_ = base::never;
    events_.on_start(turn);
    if (!kept) {
        start_error_ = kept.error().message;
        const bool permanent = kept.error().code != Errc::survivors && kept.error().code != Errc::no_space;
        apply(turn, core::Event::of_spawn_failed(generation, kept.error().sys, permanent));
        return;
    }
    start_error_.clear();
    progress_words_.clear();
    kept_ = std::move(*kept);
    output_open_ = true;
    watch_keeper();
}

void Generations::watch_keeper() {
    const auto call = [this](void (Generations::*member)()) {
        return [weak = events_.weak_from_this(), this, member](std::uint32_t) {
            if (const auto alive = weak.lock())
                (this->*member)();
        };
    };
    engine_->loop->watch(kept_->control_fd(), EPOLLIN, call(&Generations::on_control));
    engine_->loop->watch(kept_->notify_fd(), EPOLLIN, call(&Generations::on_notify));
}

void Generations::on_control() {
    keep::Message message;
    // Each word may be the last: hear() can tear the process down.
    while (kept_) {
        switch (kept_->hear(message)) {
        case keep::Control::State::nothing_yet:
            return;
        case keep::Control::State::closed:
            // It may have forked the process before it could say so.
            lose_keeper(base::cat("the keeper ", engine_->place.program,
                                  " ended before it could start the helper; if this goes on, it may be of "
                                  "another release than this library"),
                        false);
            return;
        case keep::Control::State::message:
            hear(message);
            break;
        }
    }
}

void Generations::hear(const keep::Message& message) {
    if (message.word == "spawned") {
        hear_spawned(message);
    } else if (message.word == "failed" || message.word == "refused") {
        hear_not_started(message);
    } else if (message.word == "exited") {
        const int status = static_cast<int>(message.number(0));
        const int signal = static_cast<int>(message.number(1));
        log_event(signal != 0 ? "killed" : "exited", status);
        // What it wrote before its end is read first: an answer that is there counts.
        if (output_open_)
            events_.read_rest();
        Turn turn(*this);
        const core::Failure failure = signal != 0 ? core::Failure{core::FailureKind::killed, signal}
                                                  : core::Failure{core::FailureKind::exited, status};
        apply(turn, core::Event::of_exit(machine_.generation, failure));
    } else if (message.word == "survivor") {
        if (auto process = sys::PidFd::open(static_cast<pid_t>(message.number(0)))) {
            const Lock lock(*this);
            survivors_.push_back(std::move(*process));
        }
    } else if (message.word == "done") {
        Turn turn(*this);
        tear_down(turn);
        apply(turn, core::Event::of(EventKind::tree_gone, machine_.generation));
    }
}

void Generations::hear_spawned(const keep::Message& message) {
    if (const auto theirs = static_cast<int>(message.number(2)); theirs != keep::protocol_version) {
        kept_->kill_keeper(); // its next words may mean anything
        lose_keeper(keep::describe_other_protocol(theirs, keep::protocol_version), true);
        return;
    }
    {
        const Lock lock(*this); // others ask for its number
        kept_->see_helper(static_cast<pid_t>(message.number(0)));
    }
    {
        Turn turn(*this);
        spawned_ = true;
        events_.on_spawned(turn);
        apply(turn, core::Event::of(EventKind::spawned, machine_.generation));
        if (spec_.readiness == Readiness::started)
            told_ready(turn);
    }
    // Those who wait for the process do not wait for files.
    kept_->note_helper(message.values.size() > 1 ? message.values[1] : "plain");
    log_event(kept_->generation() > 1 ? "respawned" : "spawned");
}

void Generations::hear_not_started(const keep::Message& message) {
    const int error = message.word == "failed" ? static_cast<int>(message.number(0)) : 0;
    Turn turn(*this);
    if (message.word == "failed") {
        start_error_ =
            base::cat("cannot start \"", spec_.command.front(), "\": ", sys::describe_errno(error));
    } else {
        start_error_.clear();
        for (const std::string& word : message.values)
            start_error_ += base::cat(start_error_.empty() ? "" : " ", word);
    }
    tear_down(turn);
    apply(turn, core::Event::of_spawn_failed(machine_.generation, error, error == 0 || is_permanent(error)));
}

void Generations::on_notify() {
    while (kept_) {
        const auto words = kept_->hear_notify();
        if (!words)
            return;
        hear_notify(*words);
    }
}

void Generations::hear_notify(const base::NotifyWords& words) {
    if (words.progress_done)
        kept_->note_progress(*words.progress_done, words.progress_total);
    Turn turn(*this);
    // Progress is never 0, which is "nothing said yet".
    if (words.progress_done)
        told_progress(turn, *words.progress_done * 2 + 1,
                      base::cat(*words.progress_done, '/', words.progress_total));
    if (words.extend_usec)
        apply(turn, core::Event::of_progress(machine_.generation, ++patience_words_ * 2));
    if (words.ready && spec_.readiness == Readiness::notified)
        told_ready(turn);
}

void Generations::input_ended(Turn& turn) {
    // Mostly it has ended, of which the keeper tells, with the reason. One that lives on has closed its input
    // by itself.
    if (kept_ && !kept_->helper_is_ending())
        apply(turn, core::Event::of(EventKind::input_closed, machine_.generation));
}

void Generations::output_ended(Turn&) {
    output_open_ = false;
    changed_.notify_all();
    // It has exited, or will never say anything again. Its exit, which the keeper tells, decides what
    // follows.
    if (core::facts_of(machine_.phase).process == core::Process::running)
        tell_keeper("asked");
}

void Generations::drain_moved(Turn&) {
    if (draining_ && drain_due_ != base::never)
        drain_due_ = base::after(now_moment(), drain_patience);
}

void Generations::all_written(Turn& turn) {
    if (draining_)
        turn.post([this] { continue_drain(); });
}

void Generations::continue_drain() {
    Turn turn(*this);
    if (!draining_ || !kept_)
        return;
    const base::Moment now = now_moment();
    kept_->note_phase(Phase::draining);
    const auto plan = core::parse_stop_plan(spec_.stop_plan);
    const core::StopStage first = plan ? plan->stages.front() : core::StopStage{};
    const bool waits = first.action == core::StopAction::end_of_input;
    if (waits && events_.has_unsent(turn)) {
        if (drain_due_ == base::never)
            drain_due_ = base::after(now, first.wait);
        return; // all_written() goes on, when it has taken everything
    }
    if (kept_->input_fd() >= 0) {
        events_.on_input_closing(turn);
        kept_->close_input();
    }
    if (waits)
        drain_due_ = base::after(now, first.wait);
    else
        tell_keeper("asked");
    draining_ = waits;
}

void Generations::tell_keeper(std::string_view reason) {
    if (!kept_)
        return;
    kept_->stop(reason);
    if (keeper_due_ != base::never)
        return;
    base::Millis time = keeper_margin;
    if (const auto plan = core::parse_stop_plan(spec_.stop_plan))
        for (const core::StopStage& stage : plan->stages)
            time += stage.wait;
    keeper_due_ = base::after(now_moment(), time);
}

// A keeper that was told and is stopped again will never end anything. Its death is heard of, and its tree is
// ours then.
void Generations::look_after_keeper(base::Moment now) {
    keeper_due_ = base::never;
    if (!kept_)
        return;
    if (kept_->keeper_is_stopped())
        kept_->kill_keeper();
    else
        keeper_due_ = base::after(now, keeper_margin);
}

void Generations::tear_down(Turn& turn) {
    if (!kept_)
        return;
    engine_->loop->unwatch(kept_->control_fd());
    engine_->loop->unwatch(kept_->notify_fd());
    events_.on_closing(turn);
    output_open_ = draining_ = false;
    drain_due_ = keeper_due_ = base::never;
    Engine::reap_later(engine_, kept_->take_keeper());
    kept_.reset();
}

// The control socket closed without "done": the keeper was killed, or has given up on survivors. Or it is of
// no use to us. Nobody but us can end its tree now, and nothing new starts before that is done.
void Generations::lose_keeper(std::string why_not_started, bool permanent) {
    Turn turn(*this);
    const Generation generation = machine_.generation;
    const bool spawned = spawned_;
    if (spawned)
        apply(turn, core::Event::of_exit(generation, {core::FailureKind::keeper_gone, 0}));
    else
        start_error_ = std::move(why_not_started);
    const core::Event gone = spawned ? core::Event::of(EventKind::tree_gone, generation)
                                     : core::Event::of_spawn_failed(generation, 0, permanent);
    auto keeper = kept_->keeper().duplicate();
    kept_->abandon_to_sweep();
    auto sweep = [weak = events_.weak_from_this(), this, engine = engine_, id = kept_->id(), gone,
                  keeper =
                      std::make_shared<sys::PidFd>(keeper ? std::move(*keeper) : sys::PidFd(sys::Fd(), 0))] {
        // Finding and ending the tree takes a while, and waits.
        auto left = slot::end_left_behind(engine->place.places.helpers, id, *keeper);
        engine->loop->post(
            [weak, this, gone, left = std::make_shared<std::vector<sys::PidFd>>(std::move(left))] {
                if (const auto alive = weak.lock())
                    tree_is_swept(gone, std::move(*left));
            });
    };
    tear_down(turn);
    if (!engine_->sweeper.post(sweep))
        turn.post(std::move(sweep)); // no thread to be had
}

void Generations::tree_is_swept(const core::Event& gone, std::vector<sys::PidFd> left) {
    Turn turn(*this);
    std::ranges::move(left, std::back_inserter(survivors_));
    apply(turn, gone);
}

void Generations::log_event(const char* type, std::optional<int> status) {
    engine_->events.append({.unix_ms = 0,
                            .type = type,
                            .id = kept_ ? kept_->id() : std::string(),
                            .label = label_,
                            .pid = kept_ ? kept_->helper_pid() : 0,
                            .reason = {},
                            .status = status});
}

} // namespace holdfast::supervise
