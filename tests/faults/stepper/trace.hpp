// One traced run, from launch to the end of the family. Internal to the stepper.
#pragma once

#include "stepper/stepper.hpp"
#include "stepper/watchdog.hpp"
#include "sys/fd.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>

namespace holdfast::stepper {

struct KillPoint {
    std::size_t k;
    When when;
};

class Trace {
public:
    Trace(const Spec& spec, std::optional<KillPoint> point)
        : spec_(spec)
        , point_(point) {}

    // Must be called on a thread without children or tracees of its own. Returns when no process is attached.
    Result<void> run();

    std::vector<std::string> names;
    Outcome outcome;

private:
    struct Process {
        ProcessView view;
        std::shared_ptr<sys::Fd> pidfd; // shared with the watchdog, which may be about to use it
        bool counted = false;           // the role applies
    };
    struct Call {
        std::size_t index; // 1-based, over the whole run
        long number;
    };

    void on_stop(pid_t tid, int status);
    void on_syscall(pid_t tid);
    void on_birth(pid_t tid, pid_t parent_tgid);
    void on_exec(pid_t tgid, pid_t former_tid);
    void on_end(pid_t tid, int status);
    void refresh(Process& process);
    void kill_victim(Process& process, long number);
    void resume(pid_t tid, int signal);
    void let_go(pid_t tid, int signal);
    void record(const ProcessView& view, int status);
    Process* process_of(pid_t tid);

    const Spec& spec_;
    std::optional<KillPoint> point_;
    Watchdog watchdog_;
    pid_t root_ = 0;
    int born_ = 0;
    bool killed_ = false;
    std::map<pid_t, pid_t> threads_; // attached thread -> its process
    std::map<pid_t, Process> processes_;
    std::map<pid_t, int> dead_early_; // ended before the parent's event told of them
    std::map<pid_t, Call> inside_;    // threads between entry and exit of a counted call
};

} // namespace holdfast::stepper
