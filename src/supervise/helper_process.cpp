// The process of a generation: started, heard, read, and torn down, all on the loop's thread.
#include "base/text.hpp"
#include "core/stop_plan.hpp"
#include "slot/sweep.hpp"
#include "supervise/helper.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

namespace holdfast::supervise {

using core::EventKind;

namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;
constexpr int reads_in_a_row = 16; // then the loop looks after others
// Beyond the plan's own time: a keeper kills for 10 s before it names survivors.
constexpr Millis keeper_margin{15'000};

rpc::PeerOptions peer_options(const HelperSpec& spec) {
    rpc::PeerOptions out;
    out.framing = spec.framing == RpcFraming::newline ? rpc::Framing::newline : rpc::Framing::content_length;
    out.cancel = spec.cancel == RpcCancel::lsp   ? rpc::CancelStyle::lsp
                 : spec.cancel == RpcCancel::mcp ? rpc::CancelStyle::mcp
                                                 : rpc::CancelStyle::silent;
    out.serve_within = spec.serve_within;
    out.limits.max_message = spec.limits.max_message;
    out.limits.max_in_flight = spec.limits.max_in_flight;
    out.limits.max_unsent_bytes = spec.limits.max_unsent_bytes;
    out.limits.max_requests = spec.limits.max_requests;
    return out;
}

// Errors of a start that trying again cannot help.
bool is_permanent(int error) {
    return error == ENOENT || error == EACCES || error == ENOTDIR || error == ENOEXEC || error == EISDIR ||
           error == ELOOP || error == ENAMETOOLONG || error == E2BIG;
}

} // namespace

void Helper::start_process(Generation generation) {
    HelperSpec spec;
    {
        const std::scoped_lock lock(mutex_);
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
    helper_spawned_ = watching_writable_ = input_broken_ = draining_ = false;
    drain_due_ = health_due_ = base::never;
    health_call_ = 0;
    if (!kept) {
        start_error_ = kept.error().message;
        const bool permanent = kept.error().code != Errc::survivors && kept.error().code != Errc::no_space;
        apply(core::Event::of_spawn_failed(generation, kept.error().sys, permanent));
        return;
    }
    start_error_.clear();
    progress_words_.clear();
    kept_ = std::move(*kept);
    output_open_ = true;
    if (peer_) {
        forget_written();
        noise_before_ += peer_->counters().noise + peer_->counters().oversize;
        peer_.reset();
    }
    watch_process();
}

void Helper::watch_process() {
    Loop& loop = *engine_->loop;
    const auto call = [weak = weak_from_this()](void (Helper::*member)(std::uint32_t)) {
        return [weak, member](std::uint32_t events) {
            if (const auto self = weak.lock())
                ((*self).*member)(events);
        };
    };
    loop.watch(kept_->control_fd(), EPOLLIN, call(&Helper::on_control));
    loop.watch(kept_->notify_fd(), EPOLLIN, call(&Helper::on_notify));
    loop.watch(kept_->input_fd(), 0, call(&Helper::on_writable));
}

// Not before the helper is known to run: its first words would be read while there is nobody to hear them.
void Helper::watch_output() {
    engine_->loop->watch(kept_->output_fd(), EPOLLIN, [weak = weak_from_this()](std::uint32_t events) {
        if (const auto self = weak.lock())
            self->on_output(events);
    });
}

void Helper::on_control(std::uint32_t) {
    keep::Message message;
    // Each word may be the last: hear() can tear the process down.
    while (kept_) {
        switch (kept_->hear(message)) {
        case keep::Control::State::nothing_yet:
            return;
        case keep::Control::State::closed:
            keeper_is_gone();
            return;
        case keep::Control::State::message:
            hear(message);
            break;
        }
    }
}

void Helper::hear(const keep::Message& message) {
    if (message.word == "spawned") {
        const auto pid = static_cast<pid_t>(message.number(0));
        {
            const std::scoped_lock lock(mutex_); // others ask for its number
            kept_->see_helper(pid);
        }
        {
            Turn turn(*this);
            helper_spawned_ = true;
            peer_ = std::make_unique<rpc::Peer>(peer_options(spec_), machine_.generation, registrations_,
                                                static_cast<rpc::PeerEvents&>(*this));
            watch_output();
            apply(core::Event::of(EventKind::spawned, machine_.generation));
            if (spec_.ready_by == ReadyBy::start)
                apply(core::Event::of(EventKind::ready, machine_.generation));
            else if (spec_.ready_by == ReadyBy::health)
                health_due_ = now_moment();
            if (input_broken_) // sooner than we heard of it
                input_ended();
        }
        // Those who wait for the helper do not wait for files.
        kept_->note_helper(message.values.size() > 1 ? message.values[1] : "plain");
        log_event(kept_->generation() > 1 ? "respawned" : "spawned");
    } else if (message.word == "failed" || message.word == "refused") {
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
        tear_down();
        apply(core::Event::of_spawn_failed(machine_.generation, error, error == 0 || is_permanent(error)));
    } else if (message.word == "exited") {
        const int status = static_cast<int>(message.number(0));
        const int signal = static_cast<int>(message.number(1));
        log_event(signal != 0 ? "killed" : "exited", status);
        // What it wrote before its end is read first: an answer that is there counts.
        if (output_open_ && !read_output(true))
            output_ended();
        Turn turn(*this);
        const core::Failure failure = signal != 0 ? core::Failure{core::FailureKind::killed, signal}
                                                  : core::Failure{core::FailureKind::exited, status};
        apply(core::Event::of_exit(machine_.generation, failure));
    } else if (message.word == "survivor") {
        if (auto process = sys::PidFd::open(static_cast<pid_t>(message.number(0)))) {
            const std::scoped_lock lock(mutex_);
            survivors_.push_back(std::move(*process));
        }
    } else if (message.word == "done") {
        Turn turn(*this);
        tear_down();
        apply(core::Event::of(EventKind::tree_gone, machine_.generation));
    }
}

void Helper::on_notify(std::uint32_t) {
    while (kept_) {
        const auto words = kept_->hear_notify();
        if (!words)
            return;
        if (words->progress_done)
            kept_->note_progress(*words->progress_done, words->progress_total);
        Turn turn(*this);
        const Generation generation = machine_.generation;
        if (words->progress_done) {
            progress_words_ = base::cat(*words->progress_done, '/', words->progress_total);
            // Never 0, which is "nothing said yet".
            apply(core::Event::of_progress(generation, *words->progress_done * 2 + 1));
        }
        if (words->extend_usec)
            apply(core::Event::of_progress(generation, ++patience_words_ * 2));
        if (words->ready && spec_.ready_by == ReadyBy::notify)
            apply(core::Event::of(EventKind::ready, generation));
    }
}

void Helper::on_writable(std::uint32_t events) {
    Turn turn(*this);
    if (!kept_ || kept_->input_fd() < 0)
        return;
    watching_writable_ = false;
    if ((events & EPOLLERR) != 0) {
        engine_->loop->unwatch(kept_->input_fd()); // this would be told for ever
        input_ended();
    } else {
        engine_->loop->change(kept_->input_fd(), 0);
    }
    // The end of the turn writes on.
}

// Nobody reads what we write any more. Mostly it has ended, of which the keeper tells, with the reason. One
// that lives on has closed its input by itself.
void Helper::input_ended() {
    input_broken_ = true;
    if (!kept_->helper_is_ending())
        apply(core::Event::of(EventKind::input_closed, machine_.generation));
}

void Helper::on_output(std::uint32_t) {
    {
        const std::scoped_lock lock(mutex_);
        if (leader_ != nullptr)
            return; // a caller reads by itself; this event was under way
    }
    if (kept_ && output_open_ && !read_output(false))
        output_ended();
}

bool Helper::read_output(bool to_the_end) {
    {
        std::unique_lock lock(mutex_);
        evict_leader(lock);
        loop_reads_ = true;
    }
    const bool open = read_pieces(to_the_end);
    const std::scoped_lock lock(mutex_);
    loop_reads_ = false;
    return open;
}

bool Helper::read_pieces(bool to_the_end) {
    std::array<char, read_bytes> buffer;
    for (int i = 0; to_the_end || i < reads_in_a_row; ++i) {
        // It does not block, and nobody's lock is held.
        // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
        const ssize_t n = ::read(kept_->output_fd(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        Turn turn(*this);
        receive(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
    }
    return true;
}

void Helper::output_ended() {
    engine_->loop->unwatch(kept_->output_fd());
    Turn turn(*this);
    output_open_ = false;
    if (peer_) {
        peer_->finish(now_moment());
        peer_->fail_all("the helper closed its output");
    }
    changed_.notify_all();
    // It has exited, or will never answer again. Its exit, which the keeper tells, decides what follows.
    if (core::facts_of(machine_.phase).process == core::Process::running)
        tell_keeper("asked");
}

void Helper::continue_drain() {
    Turn turn(*this);
    if (!draining_ || !kept_)
        return;
    const base::Moment now = now_moment();
    kept_->note_phase(Phase::draining);
    const auto plan = core::parse_stop_plan(spec_.stop_plan);
    const core::StopStage first = plan ? plan->stages.front() : core::StopStage{};
    const bool waits = first.action == core::StopAction::end_of_input;
    if (peer_ && peer_->has_output() && waits && !input_broken_) {
        if (drain_due_ == base::never)
            drain_due_ = base::after(now, first.wait);
        return; // it is told when it has read everything
    }
    if (kept_->input_fd() >= 0) {
        engine_->loop->unwatch(kept_->input_fd());
        kept_->close_input();
    }
    if (waits)
        drain_due_ = base::after(now, first.wait);
    else
        tell_keeper("asked");
    draining_ = waits;
}

void Helper::tell_keeper(std::string_view reason) {
    if (!kept_)
        return;
    kept_->stop(reason);
    if (keeper_due_ != base::never)
        return;
    Millis time = keeper_margin;
    if (const auto plan = core::parse_stop_plan(spec_.stop_plan))
        for (const core::StopStage& stage : plan->stages)
            time += stage.wait;
    keeper_due_ = base::after(now_moment(), time);
}

// A keeper that was told and is stopped again will never end anything. Its death is heard of, and its tree is
// ours then.
void Helper::look_after_keeper(base::Moment now) {
    keeper_due_ = base::never;
    if (!kept_)
        return;
    if (kept_->keeper_is_stopped())
        kept_->kill_keeper();
    else
        keeper_due_ = base::after(now, keeper_margin);
}

void Helper::tear_down() {
    if (!kept_)
        return;
    Loop& loop = *engine_->loop;
    evict_leader(turn_->lock());
    for (const int fd : {kept_->control_fd(), kept_->notify_fd(), kept_->output_fd()})
        loop.unwatch(fd);
    if (kept_->input_fd() >= 0)
        loop.unwatch(kept_->input_fd());
    if (peer_ && output_open_)
        peer_->fail_all(core::describe(machine_.failure));
    output_open_ = draining_ = false;
    drain_due_ = keeper_due_ = base::never;
    Engine::reap_later(engine_, kept_->take_keeper());
    kept_.reset();
}

// The control socket closed without "done": the keeper was killed, or has given up on survivors. Nobody but
// us can end its tree now, and nothing new starts before that is done.
void Helper::keeper_is_gone() {
    Turn turn(*this);
    const Generation generation = machine_.generation;
    const bool spawned = helper_spawned_;
    if (spawned)
        apply(core::Event::of_exit(generation, {core::FailureKind::keeper_gone, 0}));
    else // it may have forked the helper before it could say so
        start_error_ = "the keeper ended before it could start the helper";
    auto keeper = kept_->keeper().duplicate();
    kept_->abandon_to_sweep();
    auto sweep = [weak = weak_from_this(), engine = engine_, id = kept_->id(), generation, spawned,
                  keeper =
                      std::make_shared<sys::PidFd>(keeper ? std::move(*keeper) : sys::PidFd(sys::Fd(), 0))] {
        // Finding and ending the tree takes a while, and waits.
        auto left = slot::end_left_behind(engine->place.places.helpers, id, *keeper);
        engine->loop->post(
            [weak, generation, spawned, left = std::make_shared<std::vector<sys::PidFd>>(std::move(left))] {
                if (const auto self = weak.lock())
                    self->tree_is_swept(generation, spawned, std::move(*left));
            });
    };
    tear_down();
    if (!engine_->sweeper.post(sweep))
        turn.posted_.emplace_back([sweep = std::move(sweep)](Helper&) { sweep(); }); // no thread to be had
}

void Helper::tree_is_swept(Generation generation, bool spawned, std::vector<sys::PidFd> left) {
    Turn turn(*this);
    std::ranges::move(left, std::back_inserter(survivors_));
    apply(spawned ? core::Event::of(EventKind::tree_gone, generation)
                  : core::Event::of_spawn_failed(generation, 0, false));
}

void Helper::log_event(const char* type, std::optional<int> status) {
    engine_->events.append({.unix_ms = 0,
                            .type = type,
                            .id = kept_ ? kept_->id() : std::string(),
                            .label = label_,
                            .pid = kept_ ? kept_->helper_pid() : 0,
                            .reason = {},
                            .status = status});
}

} // namespace holdfast::supervise
