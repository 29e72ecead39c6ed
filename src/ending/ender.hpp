// The one ender of processes and their trees: TERM and CONT once to each, the grace, KILL, and again until
// the finders find nobody.
//
// It is a state machine that never waits: begin() and tick() do what is due, and next() says when to tick
// again. So it serves event loops (the keeper, a contender for a slot). finish() is the loop for blocking
// callers.
#pragma once

#include "ending/finder.hpp"
#include "ending/plan.hpp"
#include "ending/report.hpp"
#include "sys/cgroup.hpp"
#include "sys/clock.hpp"
#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace holdfast::ending {

class Ender {
public:
    explicit Ender(Plan plan);

    // Before begin(): a process that the caller has identified. This process itself is never ended, however
    // it is found.
    void add(sys::PidFd process, std::size_t of = 0);
    // The finder must outlive the Ender. Without any finder the added processes and what is below them are
    // all.
    void find_by(Finder& finder) { finders_.push_back(&finder); }
    // Leaves a process alone that was found for `of`, when this is true for it.
    void spare(std::function<bool(std::size_t of, pid_t pid)> spared) { spared_ = std::move(spared); }
    // Called for each process before the first signal to it, in the order of Report::members.
    void on_met(std::function<void(const Member&)> tell) { on_met_ = std::move(tell); }
    // Kill this cgroup first: that also reaches a process that is just being forked. Not for a cgroup with a
    // spared process inside. Only without Plan::hold.
    void use(sys::Cgroup* cgroup) noexcept { cgroup_ = cgroup; }
    // Called between two walks that follow each other at once (without Plan::hold).
    void between_walks(std::function<void()> call) { between_walks_ = std::move(call); }

    // Begins, or hurries: a later reason never goes back in the plan.
    void begin(core::StopReason reason);
    // Call it after every wake-up. Never waits.
    void tick();
    // When to tick next, at the latest.
    [[nodiscard]] sys::Deadline next() const;
    // Also to be polled (POLLIN): a process whose end is waited for. -1: there is none.
    [[nodiscard]] int fd() const noexcept;
    // While the kernel ends a cgroup: poll this (POLLPRI) and not the death of each child. Reaping them one
    // by one would take the processors from those that are still dying. -1 at all other times.
    [[nodiscard]] int cgroup_watch() const noexcept {
        return waits_for_cgroup_ ? cgroup_->populated_fd() : -1;
    }

    [[nodiscard]] bool running() const noexcept { return machine_.running(); }
    // KILL was sent, or is about to be.
    [[nodiscard]] bool killing() const noexcept { return step_ == Step::freezing || step_ == Step::killing; }
    [[nodiscard]] std::optional<core::StopReason> reason() const noexcept { return machine_.reason(); }
    // Nothing is left to do. Without Plan::hold only the caller knows this.
    [[nodiscard]] bool over() const noexcept { return step_ == Step::over; }
    // The patience is over, and a process lives on (uninterruptible, of another user, or not to be found).
    [[nodiscard]] bool given_up() const;
    // Notes which processes have ended. True when one lives that is worth waiting for.
    bool anybody();
    // A process was found that had not ended at the last look.
    [[nodiscard]] bool holds_some() const noexcept { return !held_.empty(); }

    // Carries the plan out to its end. Begins it when begin() was not called.
    Report finish();
    // Waits until all that are held have ended. False when the deadline passes first.
    [[nodiscard]] bool wait_for_all(const sys::Deadline& deadline) const;
    // The result so far. The Ender holds no process any more after this.
    Report take_report();

private:
    enum class Step { idle, asking, freezing, killing, over };
    struct Held {
        std::optional<sys::PidFd> process; // none without Plan::hold
        pid_t pid = 0;
        std::uint64_t start_ticks = 0;
        std::size_t of = 0;
        std::size_t row = 0;       // in members_
        Step heard = Step::idle;   // the step whose signal it was sent last
        std::uint32_t seen_in = 0; // the last walk that met it
        bool refused = false;      // the kernel does not let us signal it: waiting would be in vain
        bool killed = false;
    };
    struct Walked {
        std::size_t met = 0;   // who may be signalled
        std::size_t fresh = 0; // to whom the signal of this step went for the first time
    };

    void enter(core::StopAction action);
    void leave_asking();
    void strike();
    bool killed_by_cgroup();
    Walked walk();
    void meet(Found found);
    std::size_t grow();
    void signal_rest();
    void signal(Held& one, const sys::PidFd& process);
    void judge(const Walked& walked);
    void freeze();
    void settle();
    [[nodiscard]] std::size_t refused() const;
    [[nodiscard]] Held* known(pid_t pid, std::uint64_t start_ticks);
    Held& keep(sys::PidFd process, std::size_t of);
    Held& note(pid_t pid, std::uint64_t start_ticks);
    void forget_unseen();
    void index();

    Plan plan_;
    core::StopMachine machine_;
    std::vector<Finder*> finders_;
    std::function<bool(std::size_t, pid_t)> spared_;
    std::function<void(const Member&)> on_met_;
    std::function<void()> between_walks_;
    sys::Cgroup* cgroup_ = nullptr;

    Step step_ = Step::idle;
    std::vector<Held> held_;
    std::unordered_map<pid_t, std::size_t> by_pid_;
    std::vector<Member> members_;
    std::uint32_t walks_ = 0;
    Walked now_;      // of the walk that is going on
    int quiet_ = 0;   // walks in a row that found nobody
    int in_vain_ = 0; // walks in a row that found nobody although somebody is there
    bool unseen_ = false;
    sys::Deadline search_; // from the first walk in vain
    sys::Deadline walk_at_;
    sys::Deadline freeze_until_;
    sys::Deadline freeze_at_most_until_;
    int looks_ = 0; // of this freeze, after freeze_until_
    bool frozen_before_ = false;
    sys::Deadline kill_until_;
    std::optional<sys::Deadline> cgroup_until_; // once the cgroup was killed
    bool waits_for_cgroup_ = false;
};

} // namespace holdfast::ending
