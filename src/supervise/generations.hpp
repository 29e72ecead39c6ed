// A command that is kept running: started through its keeper while somebody holds it, watched, started again
// after a crash (core/supervision.hpp decides when), drained and ended with its whole tree when nobody holds
// it. Each start is a generation with a number. What is said on its stdin and stdout is not known here: the
// owner reads and writes the descriptors. conversation.hpp does so for JSON-RPC.
//
//   class Worker : public GenerationEvents {                 // lives in a shared_ptr
//       Generations process{spec, engine, *this};
//       void on_spawned(Turn& turn) override { ... watch process.output(turn) on the loop ... }
//       void read_rest() override            { ... read what is left, for it has exited ... }
//       void on_closing(Turn& turn) override { ... unwatch the descriptors ... }
//   };
//   auto hold = worker->process.hold();  ...  worker->process.release(*hold);
//
// Threads: functions that take neither Lock nor Turn take the lock themselves, and may be called from any
// thread, but not by whoever has it. wait_ready() and replace() wait: never call them on the event loop's
// thread. A Lock is for looking, a Turn for doing: it carries out what follows when it ends. Events come with
// the lock held, on the thread that caused them: on the loop's thread for all that a process does (spawned,
// ready, exited, closing), on the caller's for what a hold(), release() or told_ready() brings about. Process
// descriptors are opened and closed on the loop's thread only.
#pragma once

#include "core/supervision.hpp"
#include "supervise/engine.hpp"
#include "sys/fork_shield.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace holdfast::supervise {

using core::Generation;
using HoldTag = std::uint64_t;

class GenerationEvents;

struct ProcessStatus {
    core::HelperPhase phase = core::HelperPhase::idle;
    bool reachable = false; // it is ready, and the kernel says that it lives
    Generation generation = 0;
    std::uint32_t holds = 0;
    pid_t pid = 0;        // 0 when none runs
    std::string progress; // of its start, as it said it last
    std::string failure;  // the latest, for a person; empty when there was none
    std::uint64_t starts = 0;
};

class Generations {
public:
    class Lock;
    class Turn;

    // The owner of this object is `events`, or holds it; it must be in a shared_ptr by the first hold().
    Generations(ProcessSpec spec, std::shared_ptr<Engine> engine, GenerationEvents& events);
    Generations(const Generations&) = delete;
    Generations& operator=(const Generations&) = delete;
    ~Generations();

    // ---- Any thread, without a Turn.
    Result<HoldTag> hold();
    void release(HoldTag hold);
    // Waits until it is ready with a later generation than `newer_than`. Errors: timed_out, gave_up, closed.
    Result<Generation> wait_ready(HoldTag hold, Generation newer_than, base::Moment due);
    // Replaces generation `seen`, unless a later one is there, and waits for the successor.
    Result<Generation> replace(HoldTag hold, Generation seen, base::Moment due);
    Result<void> retry(HoldTag hold); // after giving up, or during a pause: now
    void shutdown();                  // it is ended, and nothing starts it again
    [[nodiscard]] ProcessStatus status() const;
    [[nodiscard]] bool holds(HoldTag hold) const;
    [[nodiscard]] bool reaches(Generation generation) const; // it is the present one, and lives
    [[nodiscard]] bool is_closed() const;                    // after shutdown(): nothing of it is left
    [[nodiscard]] bool is_forgettable() const;      // nothing runs, nobody holds it, no failure to remember
    [[nodiscard]] std::string survivors() const;    // processes that could not be ended, for people
    [[nodiscard]] std::string still_ending() const; // what is there yet, for people; empty when nothing is
    [[nodiscard]] bool is_fork() const noexcept { return depth_ != sys::fork_depth(); }

    // ---- With the lock.
    Result<HoldTag> hold(Turn& turn);
    void release(Turn& turn, HoldTag hold);
    [[nodiscard]] Result<void> check_hold(const Lock& lock, HoldTag hold) const;
    [[nodiscard]] bool has_hold(const Lock&, HoldTag hold) const { return holds_.contains(hold); }
    // Nothing runs, so the next hold may say how it is to be treated.
    [[nodiscard]] bool takes_spec(const Lock& lock) const;
    void set_spec(Turn& turn, ProcessSpec spec);
    [[nodiscard]] const ProcessSpec& spec(const Lock&) const noexcept { return spec_; }
    [[nodiscard]] const core::Supervision& machine(const Lock&) const noexcept { return machine_; }
    [[nodiscard]] bool usable(const Lock& lock) const; // it is ready and its output open, as far as is known
    // ... and the kernel says that it lives. A crash that anybody else can have seen is seen here, so what is
    // asked next goes to the replacement.
    [[nodiscard]] bool reachable(const Lock& lock) const;
    [[nodiscard]] Error gave_up_error(const Lock& lock) const;
    [[nodiscard]] ProcessStatus status(const Lock& lock) const;
    // Non-blocking, and the same when it has a terminal; -1 when there is none. They stay this object's.
    [[nodiscard]] int input(const Lock& lock) const;
    [[nodiscard]] int output(const Lock& lock) const;
    void signal(const Lock& lock, int number); // to the process
    void replace(Turn& turn, Generation seen); // without waiting

    // What the owner has found out.
    void told_ready(Turn& turn); // Readiness::told
    void told_progress(Turn& turn, std::uint64_t value, std::string words);
    void answered(Turn& turn);      // it said something: it is not wedged
    void health_missed(Turn& turn); // it did not answer in time
    void output_ended(Turn& turn);  // it will say nothing any more, so it is ended
    void input_ended(Turn& turn);   // it reads nothing any more; if it lives on, it is replaced
    // While it drains (GenerationEvents::has_unsent): it took or said something, and has time again.
    void drain_moved(Turn& turn);
    void all_written(Turn& turn);

private:
    void apply(Turn& turn, const core::Event& event);
    void carry_out(Turn& turn, const core::Effect& effect);
    [[nodiscard]] base::Moment next_due(Turn& turn);
    base::Moment tick(base::Moment now);

    // The process (generations_process.cpp), on the loop's thread.
    void start_process(Generation generation);
    void watch_keeper();
    void on_control();
    void hear(const keep::Message& message);
    void hear_spawned(const keep::Message& message);
    void hear_not_started(const keep::Message& message);
    void on_notify();
    void hear_notify(const base::NotifyWords& words);
    void lose_keeper(std::string why_not_started, bool permanent);
    void tree_is_swept(const core::Event& gone, std::vector<sys::PidFd> left);
    void tear_down(Turn& turn);
    void continue_drain();
    void log_event(const char* type, std::optional<int> status = {});
    // From any thread, with the lock.
    void tell_keeper(std::string_view reason); // to end the tree
    void look_after_keeper(base::Moment now);

    ProcessSpec spec_;
    const std::shared_ptr<Engine> engine_;
    GenerationEvents& events_;
    const std::string label_;
    const std::uint64_t depth_ = sys::fork_depth();

    mutable std::mutex mutex_;
    std::condition_variable changed_; // phase or generation
    core::Supervision machine_;
    std::uint64_t dice_state_;
    std::unique_ptr<EventLoop::Timer> timer_; // from the first hold on

    std::unordered_set<HoldTag> holds_;
    HoldTag last_hold_ = 0;

    std::unique_ptr<KeptProcess> kept_; // changed on the loop's thread only, under the lock
    bool spawned_ = false;              // the keeper said so, of this start
    bool output_open_ = false;
    bool draining_ = false;
    base::Moment drain_due_ = base::never;
    base::Moment keeper_due_ = base::never; // it was told to end the tree: by then it has, if it can
    std::string start_error_;               // why the last start failed, in words
    std::vector<sys::PidFd> survivors_;     // what the keeper could not end
    std::uint64_t starts_ = 0;
    std::uint64_t patience_words_ = 0;
    std::string progress_words_; // of this start
};

// Proof that the lock is held.
class Generations::Lock {
public:
    explicit Lock(const Generations& process)
        : lock_(process.mutex_) {}

    // For waiting on a condition variable: meanwhile others have it.
    [[nodiscard]] std::unique_lock<std::mutex>& lock() noexcept { return lock_; }

private:
    std::unique_lock<std::mutex> lock_;
};

// Holds the lock, and afterwards does what must not be done under it.
class Generations::Turn : public Lock {
public:
    explicit Turn(Generations& process);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    // When the lock is released: on the loop's thread, if the owner still lives; or on this one.
    void post(std::function<void()> task) { posted_.push_back(std::move(task)); }
    void after(std::move_only_function<void()> task);

private:
    Generations& process_;
    std::shared_ptr<GenerationEvents> alive_;
    std::vector<std::function<void()>> posted_;
    std::move_only_function<void()> after_; // mostly one at most
    std::vector<std::move_only_function<void()>> more_after_;
};

// What the owner of a Generations hears. Called with the lock held, except read_rest(). Anything that may
// take its time, or take another lock, belongs into Turn::post() or Turn::after().
class GenerationEvents : public std::enable_shared_from_this<GenerationEvents> {
public:
    using Turn = Generations::Turn;
    GenerationEvents() = default;
    GenerationEvents(const GenerationEvents&) = delete;
    GenerationEvents& operator=(const GenerationEvents&) = delete;
    virtual ~GenerationEvents() = default;

    // On the loop's thread.
    virtual void on_start(Turn&) {}   // a generation is being started: what was kept of the last one goes
    virtual void on_spawned(Turn&) {} // it runs, and its descriptors are there; not yet ready
    virtual void read_rest() {}       // without the lock: it has exited, and what it wrote is in output()
    virtual void on_input_closing(Turn&) {
    } // input() is closed when this returns (a terminal stays for output())
    virtual void on_closing(Turn&) {} // input() and output() are: unwatch them

    // On any thread.
    virtual void on_ready(Turn&) {}
    virtual void on_changed(Turn&) {}                        // machine() is in another phase
    virtual void on_lost(Turn&, std::string_view /*why*/) {} // this generation answers nothing any more
    virtual void on_drain(Turn&) {}                          // it is to end: nothing new for it
    // Is there something that it has not taken yet? Its input stays open for that long while it drains.
    [[nodiscard]] virtual bool has_unsent(Turn&) { return false; }
    // It waits for an answer of ours, so it is not its fault that its start stands still.
    [[nodiscard]] virtual bool waits_for_us(Turn&) { return false; }
    // For the owner's own deadlines: when tick() is to be called, at the latest.
    [[nodiscard]] virtual base::Moment next_due(Turn&) { return base::never; }
    virtual void tick(Turn&, base::Moment) {}
    // The lock was taken, and is about to be released. While a turn waits for a condition variable there are
    // others.
    virtual void begin_of_turn(Turn&) {}
    virtual void end_of_turn(Turn&) {}
};

} // namespace holdfast::supervise
