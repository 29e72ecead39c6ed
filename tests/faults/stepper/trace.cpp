#include "stepper/trace.hpp"

#include "base/text.hpp"
#include "harness/marked.hpp"
#include "harness/temp_dir.hpp"
#include "stepper/launch.hpp"
#include "sys/errors.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sys/ptrace.h>
#include <sys/wait.h>

namespace holdfast::stepper {
namespace {

constexpr long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
constexpr int syscall_stop = SIGTRAP | 0x80;

// The process that a thread belongs to: itself when it leads it, and when it is already gone.
pid_t tgid_of(pid_t tid) {
    const auto status = harness::read_file(base::cat("/proc/", tid, "/status"));
    const auto at = status ? status->find("\nTgid:") : std::string::npos;
    const auto tgid = at == std::string::npos ? 0 : std::strtol(status->c_str() + at + 6, nullptr, 10);
    return tgid > 0 ? static_cast<pid_t>(tgid) : tid;
}

std::string exe_of(pid_t pid) {
    std::error_code ignored;
    return std::filesystem::read_symlink(base::cat("/proc/", pid, "/exe"), ignored).filename().string();
}

pid_t event_pid(pid_t tid) {
    unsigned long message = 0;
    return ::ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) == 0 ? static_cast<pid_t>(message) : 0;
}

bool is_stop_signal(int number) {
    return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

} // namespace

Result<void> Trace::run() {
    const auto pid = launch_seized(spec_.program, options);
    if (!pid)
        return std::unexpected(pid.error());
    root_ = *pid;
    on_birth(root_, 0);
    watchdog_.arm(spec_.limit);
    while (!threads_.empty()) {
        int status = 0;
        // Only this thread's own: other children of the test are none of our business.
        const pid_t tid = ::waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (tid < 0 && errno == EINTR)
            continue;
        if (tid < 0) {
            if (errno == ECHILD)
                break;
            return sys::fail_sys("waitpid for the traced family");
        }
        if (WIFSTOPPED(status))
            on_stop(tid, status);
        else
            on_end(tid, status);
    }
    std::sort(outcome.family.begin(), outcome.family.end(),
              [](const Ended& a, const Ended& b) { return a.process.order < b.process.order; });
    if (!outcome.family.empty() && outcome.root().process.execs == 0)
        return fail(Errc::cannot_start, base::cat("cannot execute ", spec_.program.argv[0]));
    if (watchdog_.expired() && !killed_) {
        std::string text =
            base::cat(spec_.program.argv[0], " did not end within ", spec_.limit.count(), " ms;");
        for (const auto& ended : outcome.family)
            text += base::cat(' ', to_string(ended), ';');
        return fail(Errc::timed_out, std::move(text));
    }
    return {};
}

Trace::Process* Trace::process_of(pid_t tid) {
    const auto thread = threads_.find(tid);
    const auto process = thread == threads_.end() ? processes_.end() : processes_.find(thread->second);
    return process == processes_.end() ? nullptr : &process->second;
}

void Trace::refresh(Process& process) {
    process.view.exe = exe_of(process.view.pid);
    // Until its first exec the root is still a copy of the test: nothing to count.
    process.counted = (process.view.order != 0 || process.view.execs > 0) && spec_.role(process.view);
}

// A new thread or process was attached. Told twice (by the parent's event and by its own first stop, in
// either order), taken once: the number it gets is fixed by whichever comes first, and that is before the
// parent can go on to its next birth.
void Trace::on_birth(pid_t tid, pid_t parent_tgid) {
    if (tid <= 0 || threads_.contains(tid))
        return;
    const pid_t tgid = tgid_of(tid);
    const auto early = dead_early_.find(tid);
    if (processes_.contains(tgid) && early == dead_early_.end()) {
        threads_[tid] = tgid;
        return;
    }
    Process process;
    process.view.pid = tgid;
    process.view.order = born_++;
    const auto parent = processes_.find(parent_tgid);
    process.view.parent_order = parent == processes_.end() ? -1 : parent->second.view.order;
    if (early != dead_early_.end()) {
        record(process.view, early->second);
        dead_early_.erase(early);
        return;
    }
    // Attached and not yet waited for: the number cannot have been given away.
    process.pidfd = std::make_shared<sys::Fd>(harness::pidfd_open(tgid));
    refresh(process);
    watchdog_.watch(tgid, process.pidfd);
    processes_[tgid] = std::move(process);
    threads_[tid] = tgid;
}

void Trace::on_exec(pid_t tgid, pid_t former_tid) {
    // A thread that execs takes the leader's number over; its own vanishes without a word.
    if (former_tid != tgid) {
        threads_.erase(former_tid);
        inside_.erase(former_tid);
    }
    inside_.erase(tgid);
    if (Process* process = process_of(tgid)) {
        ++process->view.execs;
        refresh(*process);
    }
}

void Trace::on_stop(pid_t tid, int status) {
    if (!threads_.contains(tid)) {
        const auto info = harness::inspect(tid);
        on_birth(tid, info ? info->ppid : 0);
    }
    const int number = WSTOPSIG(status);
    const int event = status >> 16;
    int deliver = 0;
    switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        on_birth(event_pid(tid), threads_[tid]);
        break;
    case PTRACE_EVENT_EXEC:
        on_exec(tid, event_pid(tid));
        break;
    case PTRACE_EVENT_STOP:
        if (is_stop_signal(number) && !(killed_ && spec_.others == Others::release)) {
            ::ptrace(PTRACE_LISTEN, tid, nullptr, nullptr); // it is stopped for real and stays so until CONT
            return;
        }
        break;
    default:
        if (number == syscall_stop)
            on_syscall(tid);
        else
            deliver = number;
    }
    if (killed_ && spec_.others == Others::release)
        let_go(tid, deliver);
    else
        resume(tid, deliver);
}

void Trace::on_syscall(pid_t tid) {
    Process* process = process_of(tid);
    __ptrace_syscall_info info{};
    if (process == nullptr || killed_ || ::ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY && process->counted) {
        const long number = static_cast<long>(info.entry.nr);
        names.push_back(syscall_name(number));
        inside_[tid] = {names.size(), number};
        if (point_ && point_->when == When::entry && point_->k == names.size())
            kill_victim(*process, number);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        const auto call = inside_.find(tid);
        if (call == inside_.end())
            return; // the return of the exec that began the count
        if (point_ && point_->when == When::exit && point_->k == call->second.index)
            kill_victim(*process, call->second.number);
        inside_.erase(tid);
    }
}

void Trace::kill_victim(Process& process, long number) {
    killed_ = true;
    outcome.reached = true;
    outcome.number = number;
    outcome.name = syscall_name(number);
    outcome.victim = process.view;
    // A KILL ends a process inside its ptrace stop; at an entry stop the kernel then skips the call.
    (void)harness::pidfd_signal(process.pidfd->get(), SIGKILL);
    watchdog_.arm(spec_.settle);
    if (spec_.others == Others::release)
        for (const auto& [tid, tgid] : threads_)
            if (tgid != process.view.pid)
                ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr); // the stop that let_go needs
}

void Trace::resume(pid_t tid, int signal) {
    const Process* process = process_of(tid);
    if (killed_ && process != nullptr && process->view.pid == outcome.victim.pid)
        return; // it is dying; there is nothing to resume
    const auto how = process != nullptr && process->counted && !killed_ ? PTRACE_SYSCALL : PTRACE_CONT;
    ::ptrace(how, tid, nullptr,
             static_cast<long>(signal)); // ESRCH: killed meanwhile, its end is reported next
}

void Trace::let_go(pid_t tid, int signal) {
    Process* process = process_of(tid);
    if (process == nullptr || process->view.pid == outcome.victim.pid)
        return;
    if (::ptrace(PTRACE_DETACH, tid, nullptr, static_cast<long>(signal)) != 0)
        return; // killed meanwhile: its end will be reported
    const pid_t tgid = process->view.pid;
    threads_.erase(tid);
    for (const auto& [other, owner] : threads_)
        if (owner == tgid)
            return;
    outcome.family.push_back({process->view, Ended::How::released, 0});
    watchdog_.forget(tgid);
    processes_.erase(tgid);
}

void Trace::on_end(pid_t tid, int status) {
    const auto thread = threads_.find(tid);
    if (thread == threads_.end()) {
        dead_early_[tid] = status;
        return;
    }
    const pid_t tgid = thread->second;
    threads_.erase(thread);
    inside_.erase(tid);
    if (tid != tgid)
        return;
    if (const auto process = processes_.find(tgid); process != processes_.end()) {
        record(process->second.view, status);
        watchdog_.forget(tgid);
        processes_.erase(process);
    }
}

void Trace::record(const ProcessView& view, int status) {
    Ended ended{view, Ended::How::exited, WEXITSTATUS(status)};
    if (WIFSIGNALED(status)) {
        ended.value = WTERMSIG(status);
        ended.how = Ended::How::signalled;
        if (ended.value == SIGKILL && killed_ && view.pid == outcome.victim.pid)
            ended.how = Ended::How::killed_here;
        else if (ended.value == SIGKILL && watchdog_.expired())
            ended.how = Ended::How::ended_by_stepper;
    }
    outcome.family.push_back(std::move(ended));
}

} // namespace holdfast::stepper
