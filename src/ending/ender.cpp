#include "ending/ender.hpp"

#include "ending/by_children.hpp"
#include "sys/proc.hpp"
#include "sys/signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace holdfast::ending {

using core::StopAction;
using core::StopReason;

namespace {

// SIGSTOP takes effect when its target next enters the kernel. We look once a millisecond whether all are
// stopped: for this long and so many times, since a large tree on a busy machine is looked at once or twice
// in that time.
constexpr std::chrono::milliseconds usual_freeze{100};
constexpr int least_looks = 100;
constexpr std::chrono::milliseconds longest_freeze{2000};
constexpr std::chrono::milliseconds freeze_look{1};
// A walk may miss a process that was just forked by one we killed. Below a subreaper it becomes our child
// when its parent dies, and SIGCHLD wakes the caller. This is how long we wait for that before we walk again.
constexpr std::chrono::milliseconds walk_again{20};
// A fork storm goes on while we walk, but each of its generations becomes our child, and dead parents do not
// fork. So the walks come to an end; this is only a bound.
constexpr int most_walks_at_once = 10'000;

bool stands_still(pid_t pid) {
    auto stat = sys::read_stat(pid);
    return !stat || stat->state == 'T' || stat->state == 't' || stat->state == 'Z' || stat->state == 'X';
}

bool is_keeper(pid_t pid) {
    auto stat = sys::read_stat(pid);
    return stat && stat->comm == sys::keeper_name;
}

} // namespace

Ender::Ender(Plan plan)
    : plan_(std::move(plan))
    , machine_(plan_.stages) {}

void Ender::add(sys::PidFd process, std::size_t of) {
    if (process.pid() != ::getpid() && !known(process.pid(), 0))
        keep(std::move(process), of);
}

void Ender::begin(StopReason reason) {
    if (auto action = machine_.begin(reason, sys::boottime_ms()))
        enter(*action);
}

void Ender::tick() {
    if (auto action = machine_.advance(sys::boottime_ms())) {
        enter(*action);
        return;
    }
    switch (step_) {
    case Step::idle:
    case Step::over:
        return;
    case Step::asking:
        leave_asking();
        return;
    case Step::freezing:
        settle();
        freeze();
        return;
    case Step::killing:
        if (!plan_.hold) {
            strike();
            return;
        }
        if (const bool some = anybody(); kill_until_.passed() || (!some && finders_.empty()))
            step_ = Step::over;
        else if (!some && walk_at_.passed())
            strike();
        return;
    }
}

void Ender::enter(StopAction action) {
    switch (action) {
    case StopAction::end_of_input:
        return; // the host closed it; the process sees it by itself
    case StopAction::terminate:
        step_ = Step::asking;
        judge(walk());
        leave_asking();
        return;
    case StopAction::kill:
        kill_until_ = sys::Deadline::in(plan_.patience);
        strike();
        return;
    }
}

// Goes on to KILL, or to the end, when there is nothing left to wait for.
void Ender::leave_asking() {
    if (!plan_.hold || step_ != Step::asking)
        return;
    const bool some = anybody();
    if (finders_.empty()) {
        if (!some)
            step_ = Step::over;
        return;
    }
    // When a walk found nobody to ask, there is nobody to wait for either.
    if (plan_.share_grace ? in_vain_ > 0 && search_.passed() : !some) {
        in_vain_ = plan_.share_grace ? 0 : in_vain_;
        begin(StopReason::asked_now);
    }
}

// One round of KILL.
void Ender::strike() {
    if (!plan_.hold) {
        step_ = Step::killing;
        if (killed_by_cgroup())
            return;
        for (int walks = 0; walks < most_walks_at_once && walk().fresh != 0; ++walks)
            if (between_walks_)
                between_walks_();
        return;
    }
    const bool some = anybody();
    if (!some && finders_.empty()) {
        step_ = Step::over;
        return;
    }
    step_ = plan_.freeze ? Step::freezing : Step::killing;
    looks_ = 0;
    freeze_until_ = sys::Deadline::in(usual_freeze);
    freeze_at_most_until_ = sys::Deadline::in(longest_freeze);
    if (!some || !plan_.freeze)
        judge(walk());
    if (step_ == Step::freezing)
        freeze();
}

// The kernel reaches every process of a cgroup at once, also one that is being forked. A walk at the same
// time would only take the processor from the dying. It follows when the cgroup is empty, for processes that
// had left it, or when the time of the cgroup is over.
bool Ender::killed_by_cgroup() {
    if (!cgroup_)
        return false;
    if (!cgroup_until_) {
        if (!cgroup_->kill())
            return false;
        cgroup_until_ = sys::Deadline::in(walk_again);
    }
    waits_for_cgroup_ = !cgroup_until_->passed() && cgroup_->populated();
    return waits_for_cgroup_;
}

// First hold everything below the processes that are held already, and only then signal: once a parent has
// ended, its children are not found below it any more. Then ask the finders. What they find is signalled at
// once.
Ender::Walked Ender::walk() {
    ++walks_;
    now_ = {};
    if (plan_.hold) {
        grow();
        signal_rest();
    }
    for (Finder* finder : finders_)
        finder->find([this](Found found) { meet(std::move(found)); });
    if (!plan_.hold)
        forget_unseen();
    else if (grow() != 0) // forked while we walked
        signal_rest();
    return now_;
}

void Ender::meet(Found found) {
    const pid_t pid = found.process.pid();
    if (pid == ::getpid() || (plan_.hold && found.process.ended()) || (spared_ && spared_(found.of, pid)))
        return;
    Held* one = known(pid, found.start_ticks);
    if (!plan_.hold) {
        if (!one)
            one = &note(pid, found.start_ticks);
        signal(*one, found.process);
        return;
    }
    if (!one)
        one = &keep(std::move(found.process), found.of);
    signal(*one, *one->process);
}

// Holds all that is below the processes that are held. Returns the number of new ones.
std::size_t Ender::grow() {
    const std::size_t before = held_.size();
    for (std::size_t at = 0; plan_.trees && at < held_.size(); ++at) {
        const std::size_t of = held_[at].of;
        const auto is_known = [this](pid_t pid) { return pid == ::getpid() || known(pid, 0) != nullptr; };
        for (sys::PidFd& child : hold_children(*held_[at].process, is_known))
            if (!spared_ || !spared_(of, child.pid()))
                keep(std::move(child), of);
    }
    return held_.size() - before;
}

void Ender::signal_rest() {
    for (Held& one : held_)
        if (one.heard != step_ && !one.process->ended())
            signal(one, *one.process);
}

void Ender::signal(Held& one, const sys::PidFd& process) {
    one.seen_in = walks_;
    const bool first = one.heard != step_;
    one.heard = step_;
    now_.fresh += first ? 1 : 0;
    Result<bool> sent = true;
    if (step_ == Step::asking) {
        if (!first) // TERM once: a second one makes some programs give up their clean-up
            return;
        sent = process.signal(SIGTERM);
        (void)process.signal(SIGCONT); // a stopped process cannot end by itself
    } else if (step_ == Step::freezing) {
        sent = first ? process.signal(SIGSTOP) : sent;
    } else if (plan_.tell_keepers && is_keeper(one.pid)) {
        sent = process.signal(sys::stop_now_signal());
        (void)process.signal(SIGCONT);
    } else {
        sent = process.signal(SIGKILL);
        one.killed |= sent.value_or(false);
    }
    one.refused = !sent.has_value();
    now_.met += one.refused ? 0 : 1;
    if (plan_.hold)
        members_[one.row].refused = sent ? 0 : sent.error().sys;
}

// Decides after a walk whether another one is needed, and when.
void Ender::judge(const Walked& walked) {
    Left left = Left::nobody;
    int sure = 1;
    for (Finder* finder : finders_) {
        left = std::max(left, finder->left());
        sure = std::max(sure, finder->walks_to_be_sure());
    }
    const bool some = walked.met != 0;
    quiet_ = !some && left == Left::nobody ? quiet_ + 1 : 0;
    in_vain_ = !some && left == Left::hidden ? in_vain_ + 1 : 0;
    if (in_vain_ <= 1)
        search_ = in_vain_ == 0 ? sys::Deadline::never() : sys::Deadline::in(plan_.search);
    // The pause lets a process get on that is in the middle of an exec or a fork.
    walk_at_ = sys::Deadline::in(some || quiet_ > 0 ? base::Millis{0} : plan_.search_pause);
    if (finders_.empty() || step_ == Step::asking)
        return;
    if (quiet_ >= sure) {
        step_ = Step::over;
    } else if (in_vain_ >= sure && search_.passed()) {
        // They cannot be found, or may not be signalled. More walks would not help.
        step_ = Step::over;
        unseen_ = true;
    }
}

// Stops all. When all are stopped none can fork, and a walk after that sees every child there will ever be.
void Ender::freeze() {
    do {
        signal_rest();
    } while (grow() != 0);
    const bool still = std::ranges::all_of(
        held_, [](const Held& one) { return one.refused || one.process->ended() || stands_still(one.pid); });
    const bool looks_left = !freeze_until_.passed() || ++looks_ < least_looks;
    if ((!still || grow() != 0) && looks_left && !freeze_at_most_until_.passed())
        return;
    step_ = Step::killing;
    if (!std::exchange(frozen_before_, true)) // the time that the freeze took is not taken from the dying
        kill_until_ = sys::Deadline::in(plan_.patience);
    signal_rest();
}

void Ender::settle() {
    if (!plan_.hold || held_.empty())
        return;
    std::vector<pollfd> fds;
    fds.reserve(held_.size());
    for (const Held& one : held_)
        fds.push_back({.fd = one.process->fd(), .events = POLLIN, .revents = 0});
    if (::poll(fds.data(), fds.size(), 0) <= 0)
        return;
    std::vector<Held> living;
    for (std::size_t at = 0; at < held_.size(); ++at)
        if (fds[at].revents == 0)
            living.push_back(std::move(held_[at]));
        else
            members_[held_[at].row].fate = held_[at].killed ? Fate::killed : Fate::ended;
    held_ = std::move(living);
    index();
}

bool Ender::anybody() {
    settle();
    return refused() < held_.size();
}

std::size_t Ender::refused() const {
    return static_cast<std::size_t>(std::ranges::count(held_, true, &Held::refused));
}

Ender::Held* Ender::known(pid_t pid, std::uint64_t start_ticks) {
    const auto at = by_pid_.find(pid);
    if (at == by_pid_.end())
        return nullptr;
    Held& one = held_[at->second];
    // A PID is given to another process only after its first one has ended.
    if (one.process ? one.process->ended() : one.start_ticks != start_ticks)
        return nullptr;
    return &one;
}

Ender::Held& Ender::keep(sys::PidFd process, std::size_t of) {
    const pid_t pid = process.pid();
    members_.push_back({.pid = pid, .of = of});
    if (on_met_)
        on_met_(members_.back());
    by_pid_[pid] = held_.size();
    return held_.emplace_back(
        Held{.process = std::move(process), .pid = pid, .of = of, .row = members_.size() - 1});
}

// Without a pidfd: known by PID and start.
Ender::Held& Ender::note(pid_t pid, std::uint64_t start_ticks) {
    by_pid_[pid] = held_.size();
    return held_.emplace_back(Held{.process = std::nullopt, .pid = pid, .start_ticks = start_ticks});
}

void Ender::forget_unseen() {
    std::erase_if(held_, [this](const Held& one) { return one.seen_in != walks_; });
    index();
}

void Ender::index() {
    by_pid_.clear();
    for (std::size_t at = 0; at < held_.size(); ++at)
        by_pid_[held_[at].pid] = at;
}

sys::Deadline Ender::next() const {
    const sys::Deadline stage = machine_.due() ? sys::Deadline::at(*machine_.due()) : sys::Deadline::never();
    switch (step_) {
    case Step::idle:
    case Step::over:
        return stage;
    case Step::asking:
        return in_vain_ > 0 ? stage.earlier(search_) : stage;
    case Step::freezing:
        return sys::Deadline::in(freeze_look);
    case Step::killing:
        break;
    }
    if (!plan_.hold)
        return sys::Deadline::in(walk_again);
    return refused() < held_.size() ? kill_until_ : kill_until_.earlier(walk_at_);
}

int Ender::fd() const noexcept {
    const auto living = std::ranges::find(held_, false, &Held::refused);
    return living != held_.end() && living->process ? living->process->fd() : -1;
}

bool Ender::given_up() const {
    if (!plan_.hold)
        return killing() && kill_until_.passed();
    return over() && (unseen_ || !held_.empty());
}

Report Ender::finish() {
    begin(StopReason::asked);
    while (!over()) {
        pollfd one{.fd = fd(), .events = POLLIN, .revents = 0};
        ::poll(&one, 1, next().poll_timeout());
        tick();
    }
    return take_report();
}

bool Ender::wait_for_all(const sys::Deadline& deadline) const {
    return std::ranges::all_of(held_, [&](const Held& one) { return one.process->wait_ended(deadline); });
}

Report Ender::take_report() {
    settle();
    Report out{.members = std::move(members_), .survivors = {}, .unseen = unseen_};
    for (Held& one : held_) {
        out.members[one.row].fate = one.refused ? Fate::refused : one.killed ? Fate::survived : Fate::alive;
        out.survivors.push_back({.process = std::move(*one.process), .of = one.of});
    }
    held_.clear();
    by_pid_.clear();
    members_.clear();
    return out;
}

} // namespace holdfast::ending
